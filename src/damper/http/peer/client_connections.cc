#include "damper/http/peer/client_connections.h"

#include "damper/base/check.h"

namespace damper::http {

ClientConnections::ClientConnections(std::size_t limit) noexcept : limit_(limit) {
  DAMPER_CHECK(limit > 0);
}

void ClientConnections::reload(std::size_t limit) noexcept {
  DAMPER_CHECK(limit > 0);
  limit_.store(limit, std::memory_order_relaxed);
}

ClientSlot ClientConnections::try_take(const std::shared_ptr<ClientConnections>& of,
                                       const IpAddress& client) {
  const std::uint64_t key = ClientKey::of(client).value();
  if (of->try_take(key)) return {of, key};
  of->on_refused(client);
  return {};
}

bool ClientConnections::try_take(std::uint64_t key) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  std::size_t& count = shard.counts[key];
  if (count >= limit()) return false;  // Not a new one: a limit is at least 1.
  ++count;
  return true;
}

void ClientConnections::give_back(std::uint64_t key) noexcept {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.counts.find(key);
  DAMPER_CHECK(found != shard.counts.end());
  if (--found->second == 0) shard.counts.erase(found);
}

std::size_t ClientConnections::clients() const {
  std::size_t sum = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    sum += shard.counts.size();
  }
  return sum;
}

void ClientConnections::on_refused(const IpAddress& client) {
  const std::lock_guard lock(report_mutex_);
  ++unreported_;
  last_refused_ = client;
}

std::optional<ClientConnections::Report> ClientConnections::find_report(Instant now) {
  const std::lock_guard lock(report_mutex_);
  if (unreported_ == 0 || (reported_ && between(*reported_, now) < kReportEvery)) {
    return std::nullopt;
  }
  reported_ = now;
  return Report{.refused = std::exchange(unreported_, 0),
                .client = last_refused_->unmapped().text()};
}

}  // namespace damper::http
