#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/base/unix_time.h"
#include "damper/engine/delivery/endpoint_gate.h"
#include "damper/http/client/pool.h"
#include "damper/http/client/round_trip.h"
#include "damper/http/codec/message.h"
#include "damper/http/net/loop.h"
#include "damper/observe/trace/span_context.h"
#include "damper/webhooks/dispatch/delivery_report.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

class DeliveryAttempt;

// The result of an attempt.
struct AttemptResult {
  DeliveryReport report;
  int status = 0;        // 0: no answer
  std::string answer{};  // the beginning of its body; kCutMark follows if there was more
};

class AttemptOwner {
 public:
  virtual ~AttemptOwner() = default;
  // The attempt's last call: the owner may destroy it.
  virtual void on_attempt(DeliveryAttempt& attempt, AttemptResult result) = 0;
};

// A DeliveryAttempt is one POST of a message to an endpoint.
//
// Invariants:
//   (1) on_attempt() is called once, by the deadline, unless it is destroyed before.
//   (2) An answer counts by its status when its head was received, however long its body is; the
//       first kMostAnswer bytes of that are read and kept.
//   (3) No redirect is followed.
// Thread safety: none; all on the loop's thread.
class DeliveryAttempt final : private http::RoundTrip {
 public:
  static constexpr std::size_t kMostAnswer = 1024;
  static constexpr std::string_view kCutMark = "... (truncated)";

  // The owner outlives it.
  DeliveryAttempt(http::Loop& loop, AttemptOwner& owner, Delivery delivery,
                  engine::EndpointGate::Ticket ticket, bool healthy, observe::SpanContext context)
      : owner_(owner),
        delivery_(std::move(delivery)),
        ticket_(ticket),
        healthy_(healthy),
        context_(context),
        clock_(loop, *this, &DeliveryAttempt::on_timeout) {}

  // on_attempt() may be called from within. The pool outlives it.
  void start(http::Pool& pool, http::Request request, Instant deadline);
  // There is no pool to be had: on_attempt() is called.
  void refuse(http::CloseReason reason) { on_round_trip(reason); }

  [[nodiscard]] const Delivery& delivery() const noexcept { return delivery_; }
  [[nodiscard]] const engine::EndpointGate::Ticket& ticket() const noexcept { return ticket_; }
  // Of its span; none: it is part of no trace.
  [[nodiscard]] const observe::SpanContext& context() const noexcept { return context_; }
  // What it sent, if it is part of a trace; else empty.
  [[nodiscard]] std::string_view traceparent() const {
    if (!context_) return {};
    return request_.fields.find(observe::kTraceparentHeader).value_or("");
  }
  // HOST:PORT of its endpoint; empty: it was not started.
  [[nodiscard]] std::string_view authority() const noexcept { return request_.authority; }
  [[nodiscard]] bool was_healthy() const noexcept { return healthy_; }

 private:
  std::span<const http::Field> fields(const http::Request& request, Instant now) override;
  void on_timeout(Instant now);
  void on_round_trip(http::CloseReason reason) override;

  AttemptOwner& owner_;
  const Delivery delivery_;
  const engine::EndpointGate::Ticket ticket_;
  const bool healthy_;  // its endpoint, when it started
  const observe::SpanContext context_;
  http::Request request_;
  http::Loop::MemberTimer<DeliveryAttempt> clock_;
};

}  // namespace damper::webhooks
