#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "damper/http/client/attempt_driver.h"
#include "damper/http/client/guarded_service.h"
#include "damper/http/client/round_trip.h"

namespace damper::http {

// A GuardedCall is one guarded request with all its attempts, which are round trips to replicas. It
// decides nothing.
//
// Model: see AttemptDriver. With `modify` an attempt is two round trips: the second one writes back
// what `modify` made of the first one's response.
// Lifetime: it owns itself, from begin() to the verdict.
// Thread safety: none.
class GuardedCall final : public AttemptDriver, public Cancellable {
 public:
  static void begin(GuardedService& service, Request&& request, const RequestOptions& options,
                    Modify&& modify, std::unique_ptr<Completion<HttpResult>> completion);
  void cancel() override { on_cancel(service_.loop_.now()); }

 private:
  class Attempt final : public RoundTrip, public LeasedAttempt {
   public:
    explicit Attempt(GuardedCall& call) noexcept : call_(call) {}
    [[nodiscard]] bool is_free() const noexcept { return !lease(); }

   private:
    friend class GuardedCall;
    void start() override;
    void give_up(bool late) override { cancel(late); }
    std::span<const Field> fields(const Request& request, Instant now) override {
      return call_.fields(*this, request, now);
    }
    void on_round_trip(CloseReason reason) override { call_.on_response(*this, reason); }

    GuardedCall& call_;
    std::unique_ptr<Request> writing_;  // the second round trip of an update
  };
  class Clock final : public Loop::Timer {
   public:
    explicit Clock(GuardedCall& call) : Loop::Timer(call.service_.loop()), call_(call) {}

   private:
    void on_timer(Instant now) override { call_.on_wake(now); }
    GuardedCall& call_;
  };

  GuardedCall(GuardedService& service, Request&& request, const engine::CallOptions& options,
              Modify&& modify, std::unique_ptr<Completion<HttpResult>> completion);
  ~GuardedCall() override = default;

  ReplicaLease pick(ReplicaSet& tried, const ReplicaSet& in_use, Instant now) override;
  LeasedAttempt& free_attempt() override { return attempts_.find_free(*this); }
  decide::Report on_no_replica() override;
  void arm(Instant when) override { clock_.arm(when); }
  void on_verdict(Verdict verdict) override;

  [[nodiscard]] std::span<const Field> fields(const Attempt& attempt, const Request& request,
                                              Instant now);
  void on_response(Attempt& attempt, CloseReason reason);
  void on_failure(Attempt& attempt, Failure failure);
  void write(Attempt& attempt);

  GuardedService& service_;
  Request request_;
  Modify modify_;
  std::unique_ptr<Completion<HttpResult>> completion_;
  Clock clock_;
  AttemptSlots<Attempt> attempts_;
  std::string owner_above_;       // the layer above that retries
  std::string_view owner_;        // the layer that retries; empty: none
  std::string_view criticality_;  // to be sent; empty: none
  std::uint32_t attempt_ = 0;     // of the owner above; 0: the call's own number is sent
  std::optional<Failure> failure_;
  std::optional<Response> answer_;  // the successful response, or the last one
};

}  // namespace damper::http
