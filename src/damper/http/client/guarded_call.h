#ifndef DAMPER_HTTP_CLIENT_GUARDED_CALL_H_
#define DAMPER_HTTP_CLIENT_GUARDED_CALL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "damper/http/client/guarded_service.h"
#include "damper/http/client/round_trip.h"
#include "damper/run/call_driver.h"

namespace damper::http {

// A GuardedCall is one guarded request with all its attempts: a run::CallDriver whose attempts are
// round trips on replicas. It decides nothing.
//
// Model: each lane has a round trip and a lease on the replica that it runs on. An attempt that the
// engine gives up is cancelled on the wire; its replica hears `timeout` if the attempt's own time
// was over, else that nothing is known. With `modify` an attempt is two round trips: the second one
// puts back what was made of the first one's answer.
// Lifetime: it owns itself, from make() to the verdict.
// Thread safety: none.
class GuardedCall final : public run::CallDriver, public Cancellable, private WaitingLine::Waiter {
 public:
  static void begin(GuardedService& service, Request&& request, const RequestOptions& options,
                    Modify&& modify, std::unique_ptr<Completion<HttpResult>> completion);
  void cancel() override;

 private:
  friend class GuardedService;

  class Lane final : public RoundTrip {
   public:
    GuardedCall* call = nullptr;
    engine::Attempt attempt{};
    Replicas::Lease lease{};
    std::unique_ptr<Request> writing;  // the second round trip of an update

   private:
    std::span<const Field> fields(const Request& request, Instant now) override {
      return call->fields(*this, request, now);
    }
    void on_done(CloseReason reason) override { call->on_done(*this, reason); }
    friend class GuardedCall;
    std::string deadline_text_;
    std::string attempt_text_;
  };
  class Clock final : public Loop::Timer {
   public:
    explicit Clock(GuardedCall& call) : Loop::Timer(call.service_.loop()), call_(call) {}

   private:
    void on_timer(Instant now) override { call_.CallDriver::on_timer(now); }
    GuardedCall& call_;
  };

  GuardedCall(GuardedService& service, Request&& request, const engine::CallOptions& options,
              Modify&& modify, std::unique_ptr<Completion<HttpResult>> completion);
  ~GuardedCall() override;
  // Its memory is kept by the service for the next one.
  static void* operator new(std::size_t size, GuardedService& service);
  static void operator delete(void* memory, GuardedService& service) noexcept;
  static void operator delete(GuardedCall* call, std::destroying_delete_t);

  void send(const engine::Attempt& attempt) override;
  void give_up(int place) override;
  void wake_at(Instant when) override;
  void on_verdict(Verdict verdict) override;
  void on_flip(Instant now) override { CallDriver::on_timer(now); }

  [[nodiscard]] std::span<const Field> fields(Lane& lane, const Request& request, Instant now);
  [[nodiscard]] Lane& lane_of(std::size_t place);
  [[nodiscard]] ReplicaSet asking() const noexcept;
  void on_done(Lane& lane, CloseReason reason);
  void on_failure(Lane& lane, Failure failure);
  void write(Lane& lane);

  GuardedService& service_;
  Request request_;
  Modify modify_;
  std::unique_ptr<Completion<HttpResult>> completion_;
  Clock clock_;
  Lane first_lane_;                                          // most calls need one
  std::array<std::unique_ptr<Lane>, engine::kLanes> lanes_;  // the others, when they are used
  ReplicaSet tried_;
  std::string owner_above_;       // who retries above us
  std::string_view owner_;        // who retries; empty: nobody
  std::string_view criticality_;  // what is said of it; empty: nothing
  std::uint32_t attempt_ = 0;     // of an owner above; 0: our own count is said
  std::optional<Failure> failure_;
  std::optional<Response> answer_;  // of the success, or the last one
  GuardedCall* before_ = nullptr;   // in the service's list
  GuardedCall* after_ = nullptr;
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_CLIENT_GUARDED_CALL_H_
