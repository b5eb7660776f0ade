#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "damper/admit/concurrency_limit.h"
#include "damper/base/bounds.h"
#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/http/headers/arrival.h"
#include "damper/http/server/admission.h"
#include "damper/run/scope.h"

namespace damper::http {

struct ThreadGateOptions {
  static constexpr Range<Duration> kNeeded{Duration{1}, std::chrono::hours(1)};
  static constexpr Range<Duration> kRetryAfter{Duration{1}, std::chrono::hours(24)};

  std::string name = "server";  // label of the metrics
  // Limit of requests in progress; for the numbers see AdmissionOptions.
  admit::ConcurrencyLimitOptions limit{.window_samples = 200, .latency_tolerance = Percent(110)};
  ArrivalOptions arrival{};
  Duration needed = std::chrono::milliseconds(1);  // a request with less time left is refused
  Duration retry_after = std::chrono::seconds(1);  // least Retry-After of a refusal
  int overload_status = 503;                       // 503 or 429
};

[[nodiscard]] std::optional<std::string> find_error(const ThreadGateOptions& options);

// A ThreadGate admits requests of a server with a thread for each request, of any HTTP library:
//   void serve(const Request& request) {
//     const auto ticket = gate.try_enter(fields_of(request), request.first_byte());
//     if (!ticket) return reply(ticket.status(), ticket.retry_after());
//     ...                              // guarded calls in here inherit the caller's deadline
//   }                                  // the slot is released
//
// Why: a request that waits in a queue would block a thread of the server. So a ThreadGate has no
// queue: over the limit a request is refused with `limited`.
// Invariants:
//   (1) At most `limit` tickets are admitted at once.
//   (2) Nothing is admitted with less than `needed` left (trap D3).
// Thread safety: all methods may be called concurrently. A Ticket stays on the thread that made it.
// Cost: no allocation, but for a retry owner's name of more than 15 characters.
class ThreadGate {
 public:
  // A Ticket is the decision and, if the request is admitted, its slot.
  class [[nodiscard]] Ticket {
   public:
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    ~Ticket();

    [[nodiscard]] explicit operator bool() const noexcept { return verdict_ == Verdict::none; }
    // Of a refused request: limited, deadline_passed or deadline_too_close.
    [[nodiscard]] Verdict verdict() const noexcept { return verdict_; }
    [[nodiscard]] int status() const noexcept;
    [[nodiscard]] std::chrono::seconds retry_after() const noexcept { return retry_after_; }
    [[nodiscard]] const run::RequestContext& inherited() const noexcept { return inherited_; }
    // The client has disconnected: the latency of this request is not recorded.
    void abandon() noexcept { abandoned_ = true; }

   private:
    friend class ThreadGate;
    Ticket(ThreadGate& gate, std::span<const Field> fields, const ArrivalTime& time, Instant now,
           double draw);

    ThreadGate& gate_;
    run::RequestContext inherited_;
    Instant started_;
    Verdict verdict_ = Verdict::none;
    std::chrono::seconds retry_after_{0};
    bool abandoned_ = false;
    std::optional<run::Scope> scope_;  // of inherited_: destroyed before it
  };

  // REQUIRES: !find_error(options).
  explicit ThreadGate(const ThreadGateOptions& options);

  // `arrived`: time of the request's first byte, on run::now()'s timeline.
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
  const ThreadGateOptions options_;
  admit::ConcurrencyLimit limit_;
  AdmissionTally tally_;
};

}  // namespace damper::http
