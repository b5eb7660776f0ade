#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "damper/observe/registry.h"
#include "damper/proxy/request/access_log.h"

namespace damper::proxy {

// AccessMetrics counts the requests of one loop, by route:
//
//   damper_proxy_requests_total{route, status, verdict}   status: 2xx to 5xx, or none
//   damper_proxy_request_seconds{route}                   from the first byte to the last
//   damper_proxy_cut_total{route, reason}                 answers that are not whole
//
// Why one for a loop: series that were looked up once are found without a lock. The series belong
// to the registry, and all loops add to the same ones. Model: a route's series are created when its
// first request ends; "none" is for requests without a route. Invariants:
//   (1) Each request is in one series of requests_total and in one histogram.
//   (2) A client cannot create a series: routes are configured, and bounded by kMostRoutes.
// Thread safety: none; one loop. The registry outlives it.
// Cost: no allocation once a route's series exist; a lookup and two relaxed adds.
class AccessMetrics final : public AccessSink {
 public:
  explicit AccessMetrics(observe::Registry& registry) : registry_(registry) {}

  void on_request_over(const AccessRecord& record) noexcept override;

 private:
  static constexpr std::size_t kClasses = 6;  // none, 1xx, ... 5xx
  struct Route {
    std::array<std::array<observe::Counter*, kVerdictNames.size()>, kClasses> requests{};
    std::array<observe::Counter*, http::kCloseReasonNames.size()> cut{};
    observe::Histogram* seconds = nullptr;
  };

  [[nodiscard]] Route& route(std::string_view name);

  observe::Registry& registry_;
  std::map<std::string, std::unique_ptr<Route>, std::less<>> routes_;
  Route* last_ = nullptr;  // of the previous request, which is often the same
  std::string last_name_;
};

}  // namespace damper::proxy
