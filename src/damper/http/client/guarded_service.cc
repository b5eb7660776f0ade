#include "damper/http/client/guarded_service.h"

#include <utility>

#include "damper/base/check.h"
#include "damper/decide/layering.h"
#include "damper/http/client/guarded_call.h"

namespace damper::http {

GuardedService::GuardedService(Loop& loop, Dependency& dependency,
                               const GuardedClientOptions& options)
    : loop_(loop),
      dependency_(dependency),
      options_(options),
      dialer_(loop, options.client.dialer, options.client.resolver),
      replicas_(options.endpoints.size(), options.replicas),
      waiting_(loop) {
  DAMPER_CHECK(!find_error(options));
  if (decide::valid_owner(dependency.name())) owner_ = dependency.name();
  for (const std::string& text : options.endpoints) {
    const Endpoint endpoint = *parse_endpoint(text);
    if (endpoint.tls && !tls_) tls_ = *TlsSettings::for_client(options.client.tls);
    pools_.push_back(std::make_unique<Pool>(dialer_, endpoint, options.client.pool,
                                            endpoint.tls ? &*tls_ : nullptr, metrics_));
  }
}

GuardedService::~GuardedService() {
  while (!calls_.empty()) calls_.front().cancel();
}

void GuardedService::start(Request&& request, const RequestOptions& options, Modify&& modify,
                           std::unique_ptr<Completion<HttpResult>> completion) {
  GuardedCall::begin(*this, std::move(request), options, std::move(modify), std::move(completion));
}

}  // namespace damper::http
