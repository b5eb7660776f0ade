#ifndef DAMPER_HTTP_SERVER_GUARD_H_
#define DAMPER_HTTP_SERVER_GUARD_H_

#include <memory>
#include <optional>
#include <string>

#include "damper/base/instant.h"
#include "damper/base/unix_time.h"
#include "damper/http/headers/arrival.h"
#include "damper/http/server/admission.h"
#include "damper/http/server/handler.h"
#include "damper/timer/event_queue.h"

namespace damper::http {

struct GuardOptions {
  std::string name = "server";  // in the metrics
  AdmissionOptions admission{};
  ArrivalOptions arrival{};
  int overload_status = 503;  // 503 or 429
};

[[nodiscard]] std::optional<std::string> find_error(const GuardOptions& options);

// The outside world of a Guard: time, draws and one alarm. See LoopGuard for the real one.
class GuardClock {
 public:
  virtual ~GuardClock() = default;
  [[nodiscard]] virtual Instant now() noexcept = 0;
  [[nodiscard]] virtual UnixTime wall_now() noexcept = 0;
  [[nodiscard]] virtual double draw() noexcept = 0;
  // Calls Guard::on_alarm at `due`, once; an earlier request is forgotten. kNever: not at all.
  virtual void set_alarm(Instant due) = 0;
};

// A Guard stands before the handlers of a server and says no in time.
//
// Why: an overloaded server that accepts everything finishes nothing in time. A refusal at the door
// costs little, and its caller knows at once.
// Model: a request is read as it arrives (read_arrival): its deadline counts from its first byte.
// One whose deadline has passed is answered 504 before any work (traps D1, D3). Then Admission:
// run, wait, or refused with Retry-After. What is run sees Exchange::inherited(), so that calls
// inside it have the caller's remaining deadline. Its place is free again when it has answered and,
// if nobody answers, when the last handler lets go of the exchange. A caller that goes away in the
// queue gives up its place at once; one that goes away during the work is told to the handler
// (on_cancel), and the place is taken for as long as the work goes on. The same at the deadline:
// the caller is answered 504, the handler is told. A handler that throws is answered 500.
// Invariants:
//   (1) The handler is called once for a request that is run, and never for one that is refused.
//   (2) It is not called after the deadline, nor for a caller that has gone away.
//   (3) At the deadline the caller has an answer, and the handler has been told to give up. What
//       heeds it, as coroutines do, does not run on.
//   (4) As many places are given back as were taken.
// Thread safety: none; all on the loop's thread. One Guard a loop; metrics may be read by any
// thread. Cost: three allocations a request.
class Guard {
 public:
  // REQUIRES: !find_error(options). The clock outlives the guard. Exchanges may outlive it.
  Guard(const GuardOptions& options, GuardClock& clock);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();  // Those that wait are refused.

  void handle(const ExchangePtr& exchange, std::shared_ptr<const Handler> inner);
  void on_alarm();

  [[nodiscard]] const Admission& admission() const noexcept { return admission_; }
  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }

 private:
  class Visit;

  void on_finished(Visit& visit);
  void on_gone(Visit& visit);
  void run(const std::shared_ptr<Visit>& visit);
  void set_alarm();
  void tell(Admission::Refusals& refusals);
  void pump();

  const GuardOptions options_;
  GuardClock& clock_;
  Admission admission_;
  timer::EventQueue ending_;  // the deadlines of those that run
  bool pumping_ = false;
  const std::shared_ptr<Guard*> self_ = std::make_shared<Guard*>(this);  // for visits
};

// The middleware: `server.route(guarded(handler, guard))`. The guard outlives it.
[[nodiscard]] Handler guarded(Handler inner, Guard& guard);

}  // namespace damper::http

#endif  // DAMPER_HTTP_SERVER_GUARD_H_
