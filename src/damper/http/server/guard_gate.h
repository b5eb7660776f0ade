#ifndef DAMPER_HTTP_SERVER_GUARD_GATE_H_
#define DAMPER_HTTP_SERVER_GUARD_GATE_H_

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "damper/admit/concurrency_limit.h"
#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/http/headers/arrival.h"
#include "damper/http/server/admission_tally.h"
#include "damper/run/scope.h"

namespace damper::http {

struct GateOptions {
  std::string name = "server";  // in the metrics
  // Requests that are worked on at once; for the numbers see AdmissionOptions.
  admit::ConcurrencyLimitOptions limit{.window_samples = 200, .latency_tolerance = Percent(110)};
  ArrivalOptions arrival{};
  Duration needed = std::chrono::milliseconds(1);  // (0, 1 h]: with less left nothing is begun
  Duration retry_after =
      std::chrono::seconds(1);  // (0, 24 h]: what a refused one is told, at least
  int overload_status = 503;    // 503 or 429
};

[[nodiscard]] std::optional<std::string> find_error(const GateOptions& options);

// A Gate is a guard for somebody else's server, with a thread for each request:
//   void serve(const Request& request) {
//     const auto ticket = gate.try_enter(fields_of(request), request.first_byte());
//     if (!ticket) return reply(ticket.status(), ticket.retry_after());
//     ...                              // guarded calls in here inherit the caller's deadline
//   }                                  // the place is given back
//
// Why: a thread that waits in a queue is a thread that the server does not have. So a Gate has no
// queue: who finds no place is refused with `limited`.
// Invariants:
//   (1) At most `limit` tickets are admitted at once.
//   (2) Nothing is admitted with less than `needed` left (trap D3).
// Thread safety: all methods may be called concurrently. A Ticket stays on the thread that made it.
// Cost: no allocation, but for a retry owner's name of more than 15 characters.
class Gate {
 public:
  // A Ticket is the gate's answer and, if it is yes, a place for as long as it lives.
  class [[nodiscard]] Ticket {
   public:
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    ~Ticket();

    [[nodiscard]] explicit operator bool() const noexcept { return verdict_ == Verdict::none; }
    // Of one that was refused: limited, deadline_passed or deadline_too_close.
    [[nodiscard]] Verdict verdict() const noexcept { return verdict_; }
    [[nodiscard]] int status() const noexcept;
    [[nodiscard]] std::chrono::seconds retry_after() const noexcept { return retry_after_; }
    [[nodiscard]] const run::RequestContext& inherited() const noexcept { return inherited_; }
    // The caller has gone away: how long this took says nothing.
    void abandon() noexcept { abandoned_ = true; }

   private:
    friend class Gate;
    Ticket(Gate& gate, std::span<const Field> fields, const ArrivalTime& time, Instant now,
           double draw);

    Gate& gate_;
    run::RequestContext inherited_;
    Instant started_;
    Verdict verdict_ = Verdict::none;
    std::chrono::seconds retry_after_{0};
    bool abandoned_ = false;
    std::optional<run::Scope> scope_;  // of inherited_: goes before it
  };

  // REQUIRES: !find_error(options).
  explicit Gate(const GateOptions& options);

  // `arrived`: when the first byte of the request came, on run::now()'s timeline.
  Ticket try_enter(std::span<const Field> fields, Instant arrived);
  Ticket try_enter(std::span<const Field> fields, const ArrivalTime& time, Instant now,
                   double draw) {
    return Ticket(*this, fields, time, now, draw);
  }

  [[nodiscard]] const AdmissionTally& tally() const noexcept { return tally_; }
  [[nodiscard]] std::int32_t limit() const noexcept { return limit_.limit(); }
  [[nodiscard]] std::int32_t in_flight() const noexcept { return limit_.in_flight(); }
  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }

 private:
  const GateOptions options_;
  admit::ConcurrencyLimit limit_;
  AdmissionTally tally_;
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_SERVER_GUARD_GATE_H_
