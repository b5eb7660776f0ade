#ifndef DAMPER_PROXY_DATA_GATE_H_
#define DAMPER_PROXY_DATA_GATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/http/net/loop.h"
#include "damper/http/server/admission.h"
#include "damper/proxy/data/shared_gate.h"

namespace damper::proxy {

// A Gate is a route's http::Admission on one loop: it lets requests in, has them wait, or turns
// them away.
//
// Model: the places are those of the SharedGate, for all loops together; the queue is this loop's.
// While somebody waits here the gate has asked for a place, and one at a time is on its way to it,
// or has come. It goes to the next who waits, at the end of the turn, so that nobody is let in from
// within the end of another.
// Invariants: those of Admission and of SharedGate; and
//   (1) Who was told `waits` hears once: on_let_in() or on_turned_away(), unless it leaves before.
//   (2) on_let_in() and on_turned_away() come from the loop alone.
// Thread safety: none; one loop. admission().tally() may be read by any thread.
// Cost: no allocation but for the list of those that are refused together.
class Gate final : private http::Loop::Timer,
                   private http::Loop::TurnEnd,
                   private SharedGate::Side {
 public:
  // Who wants in. It stays where it is until it has left or was turned away.
  class Guest : public http::Admission::Item {
   public:
    virtual void on_let_in(Instant now) = 0;
    virtual void on_turned_away(Verdict verdict, Duration retry_after, Instant now) = 0;

   protected:
    ~Guest() = default;
  };
  struct Answer {
    http::Admission::Answer answer = http::Admission::Answer::runs;
    Verdict verdict = Verdict::none;  // if it is refused
    Duration retry_after{0};
  };

  // For the loop of that number. The options are those of the shared one. REQUIRES:
  // !find_error(options). The loop outlives it, and it outlives its guests.
  Gate(http::Loop& loop, const http::AdmissionOptions& options, std::shared_ptr<SharedGate> shared,
       std::size_t number);
  // The only one.
  Gate(http::Loop& loop, const http::AdmissionOptions& options);
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() override;

  // As Admission's: the queue. Limit and line are reloaded by the SharedGate.
  void reload(const http::AdmissionOptions& options);

  [[nodiscard]] Answer enter(Guest& guest, admit::Criticality criticality, Instant deadline,
                             Instant now);
  // It is done, or does not wait any longer. `abandoned`: its caller went away, so that how long
  // it took says nothing. Nothing happens if it neither waits nor runs.
  void leave(Guest& guest, bool abandoned, Instant now);

  [[nodiscard]] const http::Admission& admission() const noexcept { return admission_; }

 private:
  void on_timer(Instant now) override;
  void on_turn_end() override;
  void on_place() override;
  void ask();
  void tell(Instant now);

  const std::shared_ptr<SharedGate> shared_;
  const std::size_t number_;
  bool asked_ = false;      // for a place that was not used yet
  std::size_t places_ = 0;  // that have come
  http::Admission admission_;
  http::Admission::Refusals refusals_;
  http::Admission::Refusals telling_;
};

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_DATA_GATE_H_
