#ifndef DAMPER_LAB_WORLD_FLEET_H_
#define DAMPER_LAB_WORLD_FLEET_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "damper/base/instant.h"
#include "damper/base/random.h"
#include "damper/decide/outcome.h"
#include "damper/lab/scenario/scenario.h"
#include "damper/lab/world/streams.h"
#include "damper/queue/controller/controller_core.h"

namespace damper::lab {

// A Fleet is the controllers of one group: what happens to their objects, and the queue of each.
//
// Why: the queue that is simulated has to be the one that runs, so there is none here: each
// controller is a queue::ControllerCore, driven in virtual time as queue/controller.h drives it in
// threads. Who runs a key is the world, which makes a request of it.
// Model: an event is for an object. It adds the object's key or, without coalescing, a key of its
// own. A run is for the earliest event of its object that no successful run has seen; an object
// settles when such a run succeeds.
// Invariants:
//   (1) Events depend on the seed, the controller and their number alone: two policies see the
//   same. (2) A controller has no more runs under way than workers. (3) What is counted here agrees
//   with what the queues say: is_balanced().
// Thread safety: none. Cost: about 30 KiB for each controller, 20 bytes for each object, and what
// the queue keeps for each key that waits.
class Fleet {
 public:
  // One run of a key, from next() to finish().
  struct Run {
    queue::Ticket ticket;
    std::uint32_t controller = 0;
    std::uint32_t object = 0;
    std::uint32_t attempt = 1;  // from 1: more when its key failed the last time
    std::uint64_t number = 0;   // which one it is: the same under every policy
    Duration waited{0};         // for a worker
    Instant since = kNever;     // when the event came for which it is; kNever: it saw none
    Instant deadline = kNever;
    bool is_broken = false;  // it will fail
    [[nodiscard]] bool is_retry() const noexcept { return attempt > 1; }
  };

  // The spec and the streams outlive it. `group` is its position among the scenario's controllers.
  Fleet(const ControllersSpec& spec, std::size_t group, const Streams& streams);

  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(controllers_.size());
  }

  // When the controller's next event comes after `now`, and to which object; when it adds all of
  // its keys for the first time. kNever when that does not happen.
  [[nodiscard]] Instant next_event(std::uint32_t controller, Instant now);
  [[nodiscard]] std::uint32_t next_object(std::uint32_t controller);
  [[nodiscard]] Instant first_resync(std::uint32_t controller) const;

  // Something has happened to the object of that index.
  void on_event(std::uint32_t controller, std::uint32_t index, Instant now);

  struct Next {
    std::optional<Run> run;
    Instant wake = kNever;  // without a run: when to ask again, but for events and ends of runs
  };
  // What the controller runs now. Asked until it has nothing, after each event and each end.
  [[nodiscard]] Next next(std::uint32_t controller, Instant now);

  // The run is over; how long the object took to settle, if it did.
  std::optional<Duration> finish(const Run& run, const decide::Report& report, Instant now);

  // Of all controllers together: keys that wait for a worker or for their time; those of them that
  // have failed, without the broken ones; runs under way; keys that were given up.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
  [[nodiscard]] std::size_t failing() const noexcept { return failing_; }
  [[nodiscard]] std::size_t running() const noexcept { return running_; }
  [[nodiscard]] std::size_t parked() const noexcept { return parked_; }
  // The retries that a controller could afford: the mean of up to a hundred, evenly chosen.
  [[nodiscard]] double budget(Instant now);

  [[nodiscard]] bool is_balanced(Instant now);

 private:
  using Core = queue::ControllerCore<std::uint64_t>;
  struct Controller {
    Controller(const queue::ControllerCoreOptions& options, Random random)
        : core(options), events(random) {}
    Core core;
    Random events;
    std::uint64_t draws = 0;  // that its queue was given
    std::uint64_t events_so_far = 0;
    std::int32_t running = 0;
  };
  struct Object {
    Instant since = kNever;  // of the earliest event that no run has been started for
    std::uint32_t runs = 0;
    bool is_parked = false;
    bool is_failing = false;  // it waits, and its last run failed
  };

  [[nodiscard]] std::uint64_t entity(std::uint32_t controller) const noexcept {
    return std::uint64_t{group_} << 32 | controller;
  }
  [[nodiscard]] Object& object(std::uint32_t controller, std::uint32_t index) noexcept {
    return objects_[static_cast<std::size_t>(controller) * static_cast<std::size_t>(spec_.keys) +
                    index];
  }
  [[nodiscard]] double draw(std::uint32_t controller) noexcept {
    return streams_.draw(Purpose::requeue, entity(controller), controllers_[controller].draws++);
  }

  const ControllersSpec& spec_;
  const std::size_t group_;
  const Streams& streams_;
  std::deque<Controller> controllers_;  // They do not move.
  std::vector<Object> objects_;
  std::size_t waiting_ = 0;
  std::size_t failing_ = 0;
  std::size_t running_ = 0;
  std::size_t parked_ = 0;
};

}  // namespace damper::lab

#endif  // DAMPER_LAB_WORLD_FLEET_H_
