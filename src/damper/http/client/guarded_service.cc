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
  closing_ = true;
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

void GuardedService::on_parked(GuardedCall& call) {
  if (parked_++ == 0) run::ParkedCalls::of_process().add(*watch_);
  // Once more, now that a flip would be heard: one in between is not missed.
  call.CallDriver::on_timer(loop_.now());
}

void GuardedService::on_unparked(GuardedCall& /*call*/) {
  if (--parked_ == 0) run::ParkedCalls::of_process().remove(*watch_);
}

// A call that ends may start others, or end them: look from the start after each.
void GuardedService::wake_parked() {
  ++flips_;
  GuardedCall* call = first_;
  while (call != nullptr) {
    if (!call->parked_ || call->flips_seen_ == flips_) {
      call = call->after_;
      continue;
    }
    call->flips_seen_ = flips_;
    call->CallDriver::on_timer(loop_.now());
    call = first_;
  }
}

}  // namespace damper::http
