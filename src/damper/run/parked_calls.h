#ifndef DAMPER_RUN_PARKED_CALLS_H_
#define DAMPER_RUN_PARKED_CALLS_H_

#include <mutex>

#include "damper/admit/switches.h"

namespace damper::run {

// A ParkedCall is a call on some loop that waits for its next attempt. Its owner derives from it.
class ParkedCall {
 public:
  ParkedCall() = default;
  ParkedCall(const ParkedCall&) = delete;
  ParkedCall& operator=(const ParkedCall&) = delete;
  virtual ~ParkedCall() = default;

  [[nodiscard]] bool is_in_line() const noexcept { return in_line_; }

 protected:
  // A switch was flipped, on any thread: have the call asked again on its own (on_timer). Called
  // under a lock: it may not add or remove, nor let the call go.
  virtual void on_flip() noexcept = 0;

 private:
  friend class ParkedCalls;
  ParkedCall* next_ = nullptr;
  ParkedCall* previous_ = nullptr;
  bool in_line_ = false;  // of its own thread
};

// ParkedCalls are those of the process that wait in a backoff without a thread of their own. A flip
// of any switch under damper::switches() wakes them: run/parking.h is the same for threads.
//
// Why: a retry that waits must see the kill switch at once, not when its time is over (trap K1).
// Model: one list under one lock. A call that waits takes two turns of it, and calls that wait have
// failed: they are few, and never in a hurry.
// Invariants:
//   (1) A call that is asked once more after add() misses no flip: either it sees the switch, or it
//       is in the list when the flip comes.
//   (2) After remove() on_flip() is not called, nor running.
// Thread safety: all methods may be called concurrently, for one call by its own thread.
// Cost: no allocation; add and remove are a lock and a few stores.
class ParkedCalls final : public admit::FlipListener {
 public:
  [[nodiscard]] static ParkedCalls& of_process();

  void add(ParkedCall& call);
  void remove(ParkedCall& call);  // nothing happens if it is not there

  void on_flip() noexcept override;

 private:
  std::mutex mutex_;
  ParkedCall* first_ = nullptr;
};

}  // namespace damper::run

#endif  // DAMPER_RUN_PARKED_CALLS_H_
