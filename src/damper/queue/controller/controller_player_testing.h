#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "damper/base/instant.h"
#include "damper/base/random.h"
#include "damper/queue/controller/controller_core.h"

namespace damper::queue {

// A ControllerPlayer drives a ControllerCore in virtual time with some workers, for tests: runs
// take as long as `work` says, and end as `reconcile` says.
template <class Key>
class ControllerPlayer {
 public:
  using Core = ControllerCore<Key>;
  struct Event {
    Instant at;
    Key key;
  };
  // One run, when it starts.
  struct Started {
    Key key;
    Instant at;
    std::uint32_t attempt;
    Duration waited;
  };

  std::size_t workers = 1;
  Duration work{0};
  std::function<Finish(const Key&, std::uint32_t attempt)> reconcile;
  std::vector<Started> started;
  Instant now{};  // of the play: for `reconcile`

  ControllerPlayer(Core& core, std::uint64_t seed) : core_(core), random_(seed) {}

  // Until nothing is left to happen before `end`. The events are by time.
  void play(const std::vector<Event>& events, Instant begin, Instant end) {
    now = begin;
    std::size_t next_event = 0;
    for (;;) {
      while (next_event < events.size() && events[next_event].at <= now) {
        (void)core_.add(events[next_event++].key, {}, now, now);
      }
      finish_due();
      const Instant wake = start();
      Instant next = wake;
      if (next_event < events.size()) next = std::min(next, events[next_event].at);
      for (const Busy& busy : busy_) next = std::min(next, busy.until);
      if (next >= end) return;
      now = std::max(now, next);
    }
  }

 private:
  struct Busy {
    Instant until;
    typename Core::Run run;
  };

  void finish_due() {
    for (std::size_t i = 0; i < busy_.size();) {
      if (busy_[i].until > now) {
        ++i;
        continue;
      }
      const Busy over = busy_[i];
      busy_.erase(busy_.begin() + static_cast<std::ptrdiff_t>(i));
      const Finish how = reconcile(core_.key(over.run.ticket), over.run.attempt);
      (void)core_.finish(over.run.ticket, how, now, random_.draw());
    }
  }
  Instant start() {
    while (busy_.size() < workers) {
      const typename Core::Next next = core_.next(now, random_.draw());
      if (!next.run) {
        if (next.wake <= now) continue;  // So many were held.
        return next.wake;
      }
      started.push_back({core_.key(next.run->ticket), now, next.run->attempt, next.run->waited});
      busy_.push_back({damper::add(now, work), *next.run});
    }
    return kNever;
  }

  Core& core_;
  Random random_;
  std::vector<Busy> busy_;
};

}  // namespace damper::queue
