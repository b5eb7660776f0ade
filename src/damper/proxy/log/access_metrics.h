#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "damper/observe/registry.h"
#include "damper/proxy/log/access_log.h"

namespace damper::proxy {

// AccessMetrics counts the requests of one loop, by route:
//
//   damper_proxy_requests_total{route, status, verdict}   status: 2xx to 5xx, or none
//   damper_proxy_request_seconds{route}                   from the first byte to the last
//   damper_proxy_cut_total{route, reason}                 answers that are not whole
//
// Why one for a loop: series that were looked up once are found without a lock. The series belong
// to the registry, and all loops add to the same ones.
// Model: a route's series are created when its
// first request ends; "none" is for requests without a route.
// Invariants:
//   (1) Each request is in one series of requests_total and in one histogram.
//   (2) A client cannot create a series: routes are configured, and bounded by kMostRoutes.
// Thread safety: none; one loop. The registry outlives it.
// Cost: no allocation once a route's series exist; a lookup and two relaxed adds.
class AccessMetrics final : public AccessSink {
 public:
  explicit AccessMetrics(observe::Registry& registry) : registry_(registry) {}

  void on_request_over(const AccessRecord& record) noexcept override {
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

 private:
  static constexpr std::array<std::string_view, 6> kClassNames = {"none", "1xx", "2xx",
                                                                  "3xx",  "4xx", "5xx"};
  struct Route {
    std::array<std::array<observe::Counter*, kVerdictNames.size()>, kClassNames.size()> requests{};
    std::array<observe::Counter*, http::kCloseReasonNames.size()> cut{};
    observe::Histogram* seconds = nullptr;
  };

  [[nodiscard]] Route& route(std::string_view name) {
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

  observe::Registry& registry_;
  std::map<std::string, std::unique_ptr<Route>, std::less<>> routes_;
  Route* last_ = nullptr;  // of the previous request, which is often the same
  std::string last_name_;
};

}  // namespace damper::proxy
