#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "damper/http/codec/close_reason.h"
#include "damper/observe/exposition.h"
#include "damper/observe/registry.h"

namespace damper::http {

// ClientMetrics are the numbers of a client's connections.
//
// Model: counted by the loop, read at each scrape. Families, with the label `client`:
//   damper_http_client_connections, _idle, _held, _waiting as they are now
//   damper_http_client_opened_total                        connections that came about
//   damper_http_client_closed_total{reason}                and how they ended
//   damper_http_client_failed_dials_total{reason}          those that did not come about
//   damper_http_client_refused_total                       requests over the bound of the line
// Invariants:
//   (1) opened - the sum of closed = connections.
//   (2) Every reason is shown from the start, at 0.
// Thread safety: one thread counts, any may read.
class ClientMetrics {
 public:
  using Count = std::atomic<std::uint64_t>;
  using ByReason = std::array<Count, kCloseReasonNames.size()>;

  Count connections = 0;
  Count idle = 0;
  Count held = 0;
  Count waiting = 0;
  Count opened = 0;
  Count refused = 0;
  ByReason closed{};
  ByReason failed_dials{};

  // One thread writes: no need of a locked instruction.
  static void add(Count& count, std::uint64_t delta = 1) noexcept {
    count.store(count.load(std::memory_order_relaxed) + delta, std::memory_order_relaxed);
  }
  static void take(Count& count) noexcept { add(count, ~std::uint64_t{0}); }
  static void add(ByReason& counts, CloseReason reason) noexcept {
    add(counts[static_cast<std::size_t>(reason)]);
  }
  [[nodiscard]] static std::uint64_t of(const ByReason& counts, CloseReason reason) noexcept {
    return counts[static_cast<std::size_t>(reason)].load(std::memory_order_relaxed);
  }

  void write(std::string_view client, observe::Exposition& out) const;
  // Shows them in a registry, for as long as the Collection lives. This and the registry outlive
  // it.
  [[nodiscard]] observe::Registry::Collection show(observe::Registry& registry,
                                                   std::string client) const;
};

}  // namespace damper::http
