#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/check.h"
#include "damper/queue/work_queue/work_queue_core.h"

namespace damper::queue {

// A TestQueue is a WorkQueueCore that stores the ticket of each running key, so that a test line is
// a key and a time. A key that runs twice at the same time is a failed check (invariant 1).
class TestQueue {
 public:
  using Core = WorkQueueCore<std::string, int>;
  using AfterRun = Core::AfterRun;

  explicit TestQueue(const WorkQueueOptions& options = {}) : core(options) {}

  Added add(std::string_view key, Duration now, const AddOptions& how = {}) {
    return add_at(key, now, now, how);
  }
  Added add_at(std::string_view key, Duration due, Duration now, const AddOptions& how = {}) {
    Core::AddResult result = core.add(key, how, Instant{due}, Instant{now});
    shed = result.shed.value_or("");
    return result.added;
  }
  // The next key; "" when there is none.
  std::string get(Duration now) {
    const auto taken = core.get(Instant{now});
    if (!taken) return "";
    waited = taken->waited;
    const std::string& key = core.key(taken->ticket);
    DAMPER_CHECK(tickets_.emplace(key, taken->ticket).second);
    return key;
  }
  AfterRun done(const std::string& key, Duration now) {
    return core.done(give_up(key), Instant{now});
  }
  AfterRun done_until(const std::string& key, Duration due, Duration now) {
    return core.done_until(give_up(key), Instant{due}, Instant{now});
  }
  AfterRun park(const std::string& key, Duration now) {
    return core.park(give_up(key), Instant{now});
  }
  // All that may run, one after the other: "a b c".
  std::string run_all(Duration now) {
    std::string all;
    for (std::string key = get(now); !key.empty(); key = get(now)) {
      all += all.empty() ? key : " " + key;
      (void)done(key, now);
    }
    return all;
  }
  // All that is handed back: "a b c".
  std::string hand_back(HandBack which = HandBack::all) {
    std::string all;
    for (const Core::Unfinished& each : core.hand_back(which)) {
      all += all.empty() ? each.key : " " + each.key;
    }
    return all;
  }
  QueueStats stats(Duration now) { return core.stats(Instant{now}); }
  // REQUIRES: the key is running.
  [[nodiscard]] Ticket ticket(const std::string& key) const { return tickets_.at(key); }
  int& payload(const std::string& key) { return core.payload(ticket(key)); }

  Core core;
  std::string shed;    // by the last add
  Duration waited{0};  // by the last key that was got

 private:
  Ticket give_up(const std::string& key) {
    const Ticket ticket = tickets_.at(key);
    tickets_.erase(key);
    return ticket;
  }

  std::map<std::string, Ticket> tickets_;
};

}  // namespace damper::queue
