#pragma once

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

// Time, random draws and one alarm for a Guard. LoopGuard has the real one.
class GuardClock {
 public:
  virtual ~GuardClock() = default;
  [[nodiscard]] virtual Instant now() noexcept = 0;
  [[nodiscard]] virtual UnixTime wall_now() noexcept = 0;
  [[nodiscard]] virtual double draw() noexcept = 0;
  // Calls Guard::on_alarm() once at `due`, instead of at the previous one. kNever: never.
  virtual void set_alarm(Instant due) = 0;
};

// A Guard admits or refuses the requests of a server before they reach a handler.
//
// Why: an overloaded server that accepts everything finishes nothing in time. An early refusal is
// cheap, and its client can retry elsewhere at once.
// Model: read_arrival() reads the deadline, which counts from the request's first byte. A request
// whose deadline has passed is answered 504 before any work (traps D1, D3). Then Admission decides:
// run, wait, or refuse with Retry-After. A handler's calls inherit the remaining deadline through
// Exchange::inherited(). The slot is released with the answer or, without one, when the handler
// releases the exchange. A request whose client disconnects in the queue leaves it at once; one
// that runs is cancelled (on_cancel) and keeps its slot until the handler ends. At the deadline it
// is the same, and the answer is 504. An exception of a handler is answered 500.
// Invariants:
//   (1) The handler is called once for a request that is run, and never for one that is refused.
//   (2) It is not called after the deadline, nor after the client has disconnected.
//   (3) At the deadline the client has an answer, and the handler's on_cancel was called, which
//       ends a coroutine.
//   (4) Each slot that is taken is released once.
// Thread safety: none; all on the loop's thread. One Guard a loop; metrics may be read by any
// thread.
// Cost: three allocations a request.
class Guard {
 public:
  // REQUIRES: !find_error(options). The clock outlives the guard. Exchanges may outlive it.
  Guard(const GuardOptions& options, GuardClock& clock);
  ~Guard();  // Refuses waiting requests.

  void handle(const ExchangePtr& exchange, std::shared_ptr<const Handler> inner);
  void on_alarm();

  [[nodiscard]] const Admission& admission() const noexcept { return admission_; }
  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }

 private:
  class GuardedRequest;

  void on_finished(GuardedRequest& request);
  void on_gone(GuardedRequest& request);
  void run(const std::shared_ptr<GuardedRequest>& request);
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

class Loop;

// A LoopGuard is a Guard with the time and a timer of a loop.
//   LoopGuard door(loop, options);
//   Server server(loop, guarded(handler, door.guard()), ...);
// Thread safety: none; on the loop's thread.
class LoopGuard {
 public:
  // REQUIRES: !find_error(options). The loop outlives it.
  explicit LoopGuard(Loop& loop, const GuardOptions& options = {});
  ~LoopGuard();

  [[nodiscard]] Guard& guard() noexcept { return *guard_; }

 private:
  class Clock;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Guard> guard_;  // destroyed first: it uses the clock
};

}  // namespace damper::http
