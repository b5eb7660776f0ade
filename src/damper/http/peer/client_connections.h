#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "damper/base/instant.h"
#include "damper/http/net/ip_address.h"
#include "damper/http/peer/client_key.h"

namespace damper::http {

// A ClientConnections bounds the connections of each client, for all servers that share it.
//
//   ClientSlot slot = ClientConnections::try_take(clients, address);  // a std::shared_ptr
//   if (!slot) ...                                                    // it has `limit` already
//
// Why: max_connections is one bound for all, so a single client can have all of them.
// Model: a count for each client with connections. Its size is therefore bounded by the number of
// connections, which the server bounds before.
// Invariants:
//   (1) A client has at most `limit` slots. More only after a reload has lowered the limit.
//   (2) A client without slots takes no memory.
//   (3) A refusal changes no count. Refusals are reported at most once in kReportEvery.
// Thread safety: all methods may be called concurrently; a lock for each of kShards parts.
// Cost: some 100 ns and, for the first connection of a client, an allocation.
class ClientConnections {
 public:
  static constexpr Duration kReportEvery = std::chrono::minutes(1);

  // REQUIRES: limit > 0, here and in reload().
  explicit ClientConnections(std::size_t limit) noexcept;
  ClientConnections(const ClientConnections&) = delete;
  ClientConnections& operator=(const ClientConnections&) = delete;

  // A slot of a client; destroying or moving from it gives it back.
  class Slot {
   public:
    Slot() = default;
    Slot(Slot&& other) noexcept : of_(std::move(other.of_)), key_(other.key_) {}
    Slot& operator=(Slot&& other) noexcept {
      if (this != &other) {
        release();
        of_ = std::move(other.of_);
        key_ = other.key_;
      }
      return *this;
    }
    ~Slot() { release(); }
    explicit operator bool() const noexcept { return of_ != nullptr; }

   private:
    friend class ClientConnections;
    Slot(std::shared_ptr<ClientConnections> of, std::uint64_t key) noexcept
        : of_(std::move(of)), key_(key) {}
    void release() noexcept {
      if (of_ != nullptr) std::exchange(of_, nullptr)->give_back(key_);
    }

    std::shared_ptr<ClientConnections> of_;
    std::uint64_t key_ = 0;
  };

  // An empty slot: refused. REQUIRES: of != nullptr.
  [[nodiscard]] static Slot try_take(const std::shared_ptr<ClientConnections>& of,
                                     const IpAddress& client);
  // Connections that are open stay open.
  void reload(std::size_t limit) noexcept;

  [[nodiscard]] std::size_t limit() const noexcept {
    return limit_.load(std::memory_order_relaxed);
  }
  // How many clients have connections.
  [[nodiscard]] std::size_t clients() const;

  struct Report {
    std::uint64_t refused = 0;  // connections since the last report
    std::string client;         // the last of them
  };
  // If there were refusals and the last report is kReportEvery ago.
  [[nodiscard]] std::optional<Report> find_report(Instant now);

 private:
  static constexpr std::size_t kShards = 16;
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::uint64_t, std::size_t> counts;  // by the value of a ClientKey
  };

  [[nodiscard]] Shard& shard_of(std::uint64_t key) noexcept { return shards_[key % kShards]; }
  [[nodiscard]] bool try_take(std::uint64_t key);
  void give_back(std::uint64_t key) noexcept;
  void on_refused(const IpAddress& client);

  std::atomic<std::size_t> limit_;
  std::array<Shard, kShards> shards_;
  std::mutex report_mutex_;
  std::uint64_t unreported_ = 0;
  std::optional<IpAddress> last_refused_;
  std::optional<Instant> reported_;
};

using ClientSlot = ClientConnections::Slot;

}  // namespace damper::http
