#include "damper/http/server/server_metrics.h"

#include <algorithm>
#include <chrono>
#include <string_view>

namespace damper::http {
namespace {

constexpr std::array<std::string_view, 6> kStatusNames = {"cancelled", "1xx", "2xx",
                                                          "3xx",       "4xx", "5xx"};

}  // namespace

ServerMetrics::ServerMetrics(observe::Registry& registry, const std::string& server)
    : connections_(registry.gauge("damper_http_connections", "Connections that are open.",
                                  {{"server", server}})),
      accepted_(registry.counter("damper_http_accepted_total", "Connections that were accepted.",
                                 {{"server", server}})),
      gathered_(registry.gauge("damper_http_gathered_bytes",
                               "Bytes of bodies that are held for handlers.",
                               {{"server", server}})),
      no_room_(registry.counter("damper_http_no_room_total",
                                "Requests that were refused: too many bytes were held.",
                                {{"server", server}})),
      seconds_(registry.histogram("damper_http_request_seconds",
                                  "From the first byte of a request to its answer.",
                                  observe::latency_bounds(), {{"server", server}})) {
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    closed_[i] =
        &registry.counter("damper_http_closed_total", "Connections that ended, by why.",
                          {{"server", server}, {"reason", std::string(kCloseReasonNames[i])}});
  }
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    requests_[i] =
        &registry.counter("damper_http_requests_total", "Requests, by their answer.",
                          {{"server", server}, {"status", std::string(kStatusNames[i])}});
  }
}

void ServerMetrics::on_accepted() noexcept {
  accepted_.add();
  connections_.add(1);
}

void ServerMetrics::on_closed(CloseReason reason) noexcept {
  closed_[static_cast<std::size_t>(reason)]->add();
  connections_.add(-1);
}

void ServerMetrics::on_answered(int status, Duration took) noexcept {
  requests_[static_cast<std::size_t>(std::clamp(status / 100, 1, 5))]->add();
  seconds_.observe(std::chrono::duration<double>(took).count());
}

}  // namespace damper::http
