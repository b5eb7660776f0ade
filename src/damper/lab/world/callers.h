#ifndef DAMPER_LAB_WORLD_CALLERS_H_
#define DAMPER_LAB_WORLD_CALLERS_H_

#include <array>
#include <cstdint>

#include "damper/admit/criticality.h"
#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/engine/call.h"
#include "damper/engine/dependency.h"
#include "damper/lab/world/slab.h"
#include "damper/lab/world/streams.h"
#include "damper/timer/event_queue.h"

namespace damper::lab {

// Who makes a call: a client, a replica of a service, or a controller.
enum class Sender : std::uint8_t { client, service, controller };

// One operation under way: the engine's state machine, and what the lab knows about it.
struct Operation {
  Operation(engine::Dependency& dependency, const engine::CallOptions& options)
      : call(dependency, options),
        owned_above(options.owned_above),
        unsent_owned_above(options.unsent_owned_above) {}

  engine::Call call;
  timer::EventQueue::Timer timer{};
  std::array<Handle, engine::kLanes> lanes{};  // what the wire made of each attempt under way
  std::uint64_t number = 0;                    // which one it is: the same under every policy
  std::uint64_t origin = 0;                    // who waits for it; the wire's own word
  Handle before{};                             // the wire's own: a list of operations
  Handle after{};                              // the wire's own: the same
  Instant started{};
  Instant timer_at = kNever;
  std::uint32_t process = 0;  // the wire's own
  std::uint32_t target = 0;   // the wire's own
  std::uint32_t place = 0;    // the wire's own
  std::uint32_t draws = 0;    // how many it has used
  bool owned_above = false;
  bool unsent_owned_above = false;
  Sender sender = Sender::client;                                 // the wire's own
  bool in_fault = false;                                          // the wire's own
  admit::Criticality criticality = admit::Criticality::critical;  // the wire's own
  // The wire's own: the last answer, and a timeout before there is one.
  decide::Report report{.outcome = decide::Outcome::timeout};
};

// A Wire is where attempts go. It answers through Callers::on_answer(), later or never: not from
// within on_send().
class Wire {
 public:
  // Sends the attempt; what it returns names it until it is answered or given up, and no other.
  virtual Handle on_send(Handle operation, Operation& caller, const engine::Attempt& attempt) = 0;
  // The caller does not want the answer any more.
  virtual void on_give_up(Handle sent) = 0;
  // The operation is over, and gone after this. It may start others.
  virtual void on_over(const Operation& caller, Verdict verdict) = 0;

 protected:
  ~Wire() = default;
};

// Callers drive every call of a world through the engine, in virtual time: the lab's counterpart
// of run/blocking.h.
//
// Why: the policy that is simulated has to be the one that runs, so the lab has no retry logic: it
// asks the same engine::Call and does what the step says.
// Model: each step is applied in its documented order. The event of the kind given at construction
// is due when a call wants to be woken; whoever runs the queue hands it to on_wake().
// Invariants:
//   (1) A call is told of an answer only if it has not given that attempt up, and once.
//   (2) The draws of an operation depend on its number and how many it has used, and on nothing
//       else: two policies that ask alike see alike.
// Thread safety: none. Cost: one place in a slab for each operation, about 0.5 KiB.
class Callers {
 public:
  // All of them outlive it. `wake` is the kind of the events that it schedules.
  Callers(timer::EventQueue& queue, const Streams& streams, Wire& wire, std::uint32_t wake) noexcept
      : queue_(queue), streams_(streams), wire_(wire), wake_(wake) {}

  // Puts a new operation in place, so that the wire can fill in what is its own.
  Handle prepare(engine::Dependency& dependency, const engine::CallOptions& options);
  [[nodiscard]] Operation* find(Handle operation) noexcept { return operations_.find(operation); }
  // Starts it, now. It may be over when this returns.
  void start(Handle handle);

  // The answer to an attempt that was sent as `sent`. Whether it was still wanted.
  bool on_answer(Handle handle, Handle sent, const decide::Report& report);
  // Whether the attempt is still wanted.
  [[nodiscard]] bool is_wanted(Handle handle, Handle sent) noexcept;
  void on_wake(const timer::TimedEvent& event);
  // Whoever waits for it does not any more. REQUIRES: it has been started, and is not over.
  void cancel(Handle handle);

  template <class Visit>
  void for_each(Visit visit) {
    operations_.for_each(visit);
  }
  [[nodiscard]] std::size_t size() const noexcept { return operations_.size(); }

 private:
  [[nodiscard]] double draw(Operation& operation) const noexcept {
    return streams_.draw(Purpose::jitter, operation.number, operation.draws++);
  }
  void apply(Handle handle, Operation& operation, const engine::Step& step);
  void set_timer(Handle handle, Operation& operation, Instant at);

  timer::EventQueue& queue_;
  const Streams& streams_;
  Wire& wire_;
  const std::uint32_t wake_;
  Slab<Operation> operations_;
};

}  // namespace damper::lab

#endif  // DAMPER_LAB_WORLD_CALLERS_H_
