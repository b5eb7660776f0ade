#include "damper/proxy/request/access_metrics.h"

#include <algorithm>
#include <chrono>

namespace damper::proxy {
namespace {

constexpr std::array<std::string_view, 6> kClassNames = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};

}  // namespace

AccessMetrics::Route& AccessMetrics::route(std::string_view name) {
  if (last_ != nullptr && name == last_name_) return *last_;
  auto at = routes_.find(name);
  if (at == routes_.end()) {
    at = routes_.emplace(name, std::make_unique<Route>()).first;
    at->second->seconds = &registry_.histogram(
        "damper_proxy_request_seconds", "From a request's first byte to its answer's last.",
        observe::latency_bounds(), {{"route", std::string(name)}});
  }
  last_name_ = name;
  last_ = at->second.get();
  return *last_;
}

void AccessMetrics::on_request_over(const AccessRecord& record) noexcept {
  const std::string_view name = record.route.empty() ? "none" : record.route;
  Route& it = route(name);
  const auto status = static_cast<std::size_t>(std::clamp(record.status / 100, 0, 5));
  observe::Counter*& requests = it.requests[status][static_cast<std::size_t>(record.verdict)];
  if (requests == nullptr) {
    requests = &registry_.counter("damper_proxy_requests_total", "Requests that are over.",
                                  {{"route", std::string(name)},
                                   {"status", std::string(kClassNames[status])},
                                   {"verdict", std::string(damper::name(record.verdict))}});
  }
  requests->add();
  it.seconds->observe(std::chrono::duration<double>(record.took).count());
  if (record.ended == http::CloseReason::finished) return;
  observe::Counter*& cut = it.cut[static_cast<std::size_t>(record.ended)];
  if (cut == nullptr) {
    cut = &registry_.counter(
        "damper_proxy_cut_total", "Requests whose answer was not whole.",
        {{"route", std::string(name)}, {"reason", std::string(http::name(record.ended))}});
  }
  cut->add();
}

}  // namespace damper::proxy
