#include "damper/base/check.h"
#include "damper/webhooks/dispatch/dispatcher.h"

namespace damper::webhooks {

void Dispatcher::reload(const engine::DeliveryPolicy& policy) {
  DAMPER_CHECK_VALID(find_error(policy));
  policy_ = std::make_shared<const engine::DeliveryPolicy>(policy);
  for (const auto& [id, worker] : workers_) {
    const Endpoint* const endpoint = directory_.find(id);
    if (endpoint == nullptr) continue;
    worker->reload(*endpoint, policy_, loop_.now());
    pump(*worker);
  }
}

}  // namespace damper::webhooks
