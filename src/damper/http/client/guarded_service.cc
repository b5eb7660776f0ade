#include "damper/http/client/guarded_service.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "damper/base/check.h"
#include "damper/decide/layering.h"
#include "damper/http/client/guarded_call.h"
#include "damper/run/parked_calls.h"

namespace damper::http {

// Hears of flips on any thread, and has the service's parked calls asked on the loop.
class FlipWatch final : public run::ParkedCall, public std::enable_shared_from_this<FlipWatch> {
 public:
  explicit FlipWatch(GuardedService& service) : service_(&service) {}

  void stop() {
    run::ParkedCalls::of_process().remove(*this);
    service_ = nullptr;
  }

 private:
  void on_flip() noexcept override {
    boost::asio::post(service_->loop_.context(), [watch = weak_from_this()] {
      const std::shared_ptr<FlipWatch> alive = watch.lock();
      if (alive != nullptr && alive->service_ != nullptr) alive->service_->wake_parked();
    });
  }

  GuardedService* service_;
};

GuardedService::GuardedService(Loop& loop, Dependency& dependency,
                               const GuardedClientOptions& options)
    : loop_(loop),
      dependency_(dependency),
      options_(options),
      dialer_(loop, options.client.dialer, options.client.resolver),
      replicas_(options.endpoints.size(), options.replicas),
      watch_(std::make_shared<FlipWatch>(*this)) {
  DAMPER_CHECK(!find_error(options));
  spare_.reserve(kMostSpare);
  if (decide::valid_owner(dependency.name())) owner_ = dependency.name();
  for (const std::string& text : options.endpoints) {
    const Endpoint endpoint = *parse_endpoint(text);
    if (endpoint.tls && !tls_) tls_ = *TlsSettings::for_client(options.client.tls);
    pools_.push_back(std::make_unique<Pool>(dialer_, endpoint, options.client.pool,
                                            endpoint.tls ? &*tls_ : nullptr, metrics_));
  }
}

GuardedService::~GuardedService() {
  while (first_ != nullptr) first_->cancel();
  watch_->stop();
  for (void* const memory : spare_) ::operator delete(memory);
}

void GuardedService::keep(void* memory) noexcept {
  if (spare_.size() < kMostSpare) {
    spare_.push_back(memory);
  } else {
    ::operator delete(memory);
  }
}

void GuardedService::start(Request&& request, const RequestOptions& options, Modify&& modify,
                           std::unique_ptr<Completion<HttpResult>> completion) {
  GuardedCall::begin(*this, std::move(request), options, std::move(modify), std::move(completion));
}

void GuardedService::push_parked(GuardedCall& call) noexcept {
  call.flips_seen_ = flips_;
  call.parked_after_ = nullptr;
  call.parked_before_ = std::exchange(last_parked_, &call);
  (call.parked_before_ != nullptr ? call.parked_before_->parked_after_ : first_parked_) = &call;
}

void GuardedService::unlink_parked(GuardedCall& call) noexcept {
  (call.parked_before_ != nullptr ? call.parked_before_->parked_after_ : first_parked_) =
      call.parked_after_;
  (call.parked_after_ != nullptr ? call.parked_after_->parked_before_ : last_parked_) =
      call.parked_before_;
}

void GuardedService::on_parked(GuardedCall& call) {
  if (first_parked_ == nullptr) run::ParkedCalls::of_process().add(*watch_);
  push_parked(call);
  // Once more, now that a flip would be heard: one in between is not missed.
  call.CallDriver::on_timer(loop_.now());
}

void GuardedService::on_unparked(GuardedCall& call) {
  unlink_parked(call);
  if (first_parked_ == nullptr) run::ParkedCalls::of_process().remove(*watch_);
}

// Those that were asked go to the end of the list, where those that park meanwhile go as well: each
// is asked once, whatever ends or begins.
void GuardedService::wake_parked() {
  ++flips_;
  while (first_parked_ != nullptr && first_parked_->flips_seen_ != flips_) {
    GuardedCall& call = *first_parked_;
    unlink_parked(call);
    push_parked(call);
    call.CallDriver::on_timer(loop_.now());
  }
}

}  // namespace damper::http
