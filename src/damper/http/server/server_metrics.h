#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "damper/base/instant.h"
#include "damper/http/codec/close_reason.h"
#include "damper/observe/metric.h"
#include "damper/observe/registry.h"

namespace damper::http {

// ServerMetrics shows HTTP servers in a Registry, with the label `server`:
//   ServerMetrics metrics(registry, "api");
//   Server server(loop, options, sink, &metrics);
//
// Model: the servers of all loops may share one. Families:
//   damper_http_connections                       gauge
//   damper_http_accepted_total                    connections
//   damper_http_closed_total{reason}              connections, by CloseReason
//   damper_http_requests_total{status}            2xx to 5xx, 1xx: a tunnel; cancelled: the caller
//                                                 went away before its answer
//   damper_http_request_seconds                   from a request's first byte to its answer
//   damper_http_gathered_bytes                    gauge: of bodies that are held for handlers
//   damper_http_no_room_total                     requests refused since those were too many
// Invariants:
//   (1) Every reason and status is shown from the start, at 0: a rate sees the first one.
//   (2) accepted_total = connections + the sum of closed_total, when nothing is under way.
// Thread safety: all methods may be called concurrently; lock-free.
// Cost: some relaxed adds for each event; 100 KiB.
class ServerMetrics {
 public:
  // The registry outlives it.
  ServerMetrics(observe::Registry& registry, const std::string& server);

  void on_accepted() noexcept;
  void on_closed(CloseReason reason) noexcept;
  void on_answered(int status, Duration took) noexcept;
  void on_cancelled() noexcept { requests_[0]->add(); }
  void on_gathered(std::size_t bytes) noexcept { gathered_.add(static_cast<double>(bytes)); }
  void on_dropped(std::size_t bytes) noexcept { gathered_.add(-static_cast<double>(bytes)); }
  void on_no_room() noexcept { no_room_.add(); }

  [[nodiscard]] std::uint64_t closed(CloseReason reason) const noexcept {
    return closed_[static_cast<std::size_t>(reason)]->value();
  }
  [[nodiscard]] double connections() const noexcept { return connections_.value(); }

 private:
  observe::Gauge& connections_;
  observe::Counter& accepted_;
  observe::Gauge& gathered_;
  observe::Counter& no_room_;
  std::array<observe::Counter*, kCloseReasonNames.size()> closed_{};
  std::array<observe::Counter*, 6> requests_{};  // 0: cancelled; then by the first digit
  observe::Histogram& seconds_;
};

}  // namespace damper::http
