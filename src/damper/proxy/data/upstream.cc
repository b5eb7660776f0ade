#include "damper/proxy/data/upstream.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "damper/base/check.h"
#include "damper/http/net/dialer.h"
#include "damper/proxy/data/replica_endpoints.h"

namespace damper::proxy {
namespace {

// The interval of checks whether a retired pool is unused.
constexpr Duration kLook = std::chrono::milliseconds(50);

bool same_connections(const ClusterConfig& a, const ClusterConfig& b) {
  return a.protocol == b.protocol && a.pool == b.pool && a.dialer == b.dialer && a.tls == b.tls;
}

}  // namespace

struct Upstream::Parts {
  Parts(http::Loop& loop, const ClusterConfig& config,
        const std::optional<http::TlsSettings>& used_tls)
      : dialer(loop, config.dialer), tls(used_tls) {}

  http::Dialer dialer;
  std::optional<http::TlsSettings> tls;
};

class Upstream::Host {
 public:
  Host(std::shared_ptr<Parts> parts, const http::Endpoint& endpoint,
       const http::PoolOptions& options, std::shared_ptr<http::ClientMetrics> metrics)
      : parts_(std::move(parts)),
        metrics_(std::move(metrics)),
        pool(parts_->dialer, endpoint, options, endpoint.tls ? &*parts_->tls : nullptr, *metrics_) {
  }

 private:
  const std::shared_ptr<Parts> parts_;
  const std::shared_ptr<http::ClientMetrics> metrics_;

 public:
  http::Pool pool;
};

Upstream::Upstream(http::Loop& loop, const Setting& setting)
    : http::Loop::Timer(loop),
      config_(setting.config),
      loops_(setting.loops),
      held_(setting.held),
      metrics_(std::make_shared<http::ClientMetrics>()),
      parts_(std::make_shared<Parts>(loop, config_, setting.tls)),
      replicas_(0, config_.replicas),
      forced_(setting.forced),
      health_(setting.health),
      zone_(setting.zone) {
  settle_hosts(setting.addresses);
}

Upstream::~Upstream() = default;

http::ReplicaLease Upstream::pick_next(balance::ReplicaSet& tried,
                                       const balance::ReplicaSet& in_use, Instant now, double draw,
                                       std::optional<std::uint64_t> key) {
  const balance::Replicas::Lease lease = replicas_.pick_next(tried, in_use, now, draw, key);
  if (!lease) return {};
  return {replicas_, lease, hosts_[lease.replica()]->pool};
}

void Upstream::reload(const Setting& setting) {
  DAMPER_CHECK(setting.config.name == config_.name);
  const bool same = same_connections(config_, setting.config) && loops_ == setting.loops;
  config_ = setting.config;
  loops_ = setting.loops;
  forced_ = setting.forced;
  health_ = setting.health;
  zone_ = setting.zone;
  replicas_.reload(config_.replicas, loop().now());
  if (same && parts_->tls.has_value() == setting.tls.has_value()) {
    parts_->tls = setting.tls;  // Files may have changed: connections from now on.
  } else {
    parts_ = std::make_shared<Parts>(loop(), config_, setting.tls);
    for (std::unique_ptr<Host>& host : hosts_) {
      if (host == nullptr) continue;
      const http::Endpoint endpoint = host->pool.endpoint();
      retire_host(std::move(host));
      // An endpoint that changes between http and https is removed below.
      if (!endpoint.tls || parts_->tls) host = make_host(endpoint);
    }
  }
  settle_hosts(setting.addresses);
}

void Upstream::use_tls(const http::TlsSettings& tls) {
  DAMPER_CHECK(parts_->tls.has_value());
  parts_->tls = tls;
}

void Upstream::use(const Addresses& addresses) { settle_hosts(addresses); }

void Upstream::look_at_forced(const std::string& replica) {
  if (forced_ == nullptr) return;
  const HeldBreaker held = forced_->find(replica);
  const Instant now = loop().now();
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i] == nullptr || !replicas_.is_in(i)) continue;
    if (replica_name(hosts_[i]->pool.endpoint()) == replica)
      replicas_.force(i, held.setting(now), now);
  }
}

void Upstream::look_at_health() {
  if (health_ == nullptr) return;
  const ClusterHealth::Verdicts verdicts = health_->all();
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i] == nullptr || !replicas_.is_in(i)) continue;
    const auto found = verdicts.find(replica_name(hosts_[i]->pool.endpoint()));
    const bool healthy = found == verdicts.end() || found->second.state != HealthState::unhealthy;
    replicas_.set_healthy(i, healthy, loop().now());
  }
}

// Adds and removes replicas to match the endpoints.
void Upstream::settle_hosts(const Addresses& addresses) {
  std::vector<http::Endpoint> wanted = expand_endpoints(config_.endpoints, addresses);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (!replicas_.is_in(i)) continue;
    if (hosts_[i] != nullptr && std::erase(wanted, hosts_[i]->pool.endpoint()) > 0) continue;
    replicas_.remove(i);
    if (hosts_[i] != nullptr) retire_host(std::move(hosts_[i]));
  }
  left_out_ = 0;
  for (const http::Endpoint& endpoint : wanted) {
    const std::optional<std::size_t> number = replicas_.try_add(replica_name(endpoint));
    if (!number) {
      ++left_out_;
      continue;
    }
    if (*number == hosts_.size()) hosts_.emplace_back();
    hosts_[*number] = make_host(endpoint);
    if (health_ != nullptr &&
        health_->find(replica_name(endpoint)).state == HealthState::unhealthy) {
      replicas_.set_healthy(*number, false, loop().now());
    }
    if (forced_ == nullptr) continue;
    const HeldBreaker held = forced_->find(replica_name(endpoint));
    if (held.until > loop().now()) {
      replicas_.force(*number, held.setting(loop().now()), loop().now());
    }
  }
  settle_zones();
  Addresses again;
  if (left_out_ > 0) {
    again = addresses;
    look_later();
  }
  addresses_ = std::move(again);
}

// Endpoints without a zone are of one zone, which is not the proxy's.
void Upstream::settle_zones() {
  balance::ReplicaSet own;
  std::set<std::string_view> zones;
  for (std::size_t i = 0; !zone_.empty() && i < hosts_.size(); ++i) {
    if (hosts_[i] == nullptr || !replicas_.is_in(i)) continue;
    const std::string& zone = zone_of(hosts_[i]->pool.endpoint());
    zones.insert(zone);
    own.set(i, zone == zone_);
  }
  replicas_.set_zones(own, own.any() ? zones.size() : 0);
}

const std::string& Upstream::zone_of(const http::Endpoint& endpoint) const {
  static const std::string kNone;
  if (config_.zones.empty()) return kNone;
  const auto found = config_.zones.find(endpoint.text());
  return found == config_.zones.end() ? kNone : found->second;
}

std::unique_ptr<Upstream::Host> Upstream::make_host(const http::Endpoint& endpoint) const {
  http::PoolOptions options = config_.pool;
  options.plain = config_.protocol == http::Protocol::h2 ? http::Protocol::h2 : options.plain;
  options.max_connections = share_of(options.max_connections, loops_);
  options.max_held = share_of(options.max_held, loops_);
  if (held_ != nullptr) options.held = held_;
  options.max_waiting = share_of(options.max_waiting, loops_);
  return std::make_unique<Host>(parts_, endpoint, options, metrics_);
}

void Upstream::retire_host(std::unique_ptr<Host> host) {
  host->pool.retire();
  retired_.push_back(std::move(host));
  look_later();
}

void Upstream::look_later() {
  if (due() == kNever) arm(add(loop().now(), kLook));
}

void Upstream::on_timer(Instant /*now*/) {
  std::erase_if(retired_, [](const auto& host) { return host->pool.is_unused(); });
  if (left_out_ > 0 && replicas_.has_room()) settle_hosts(Addresses(addresses_));
  if (!retired_.empty() || left_out_ > 0) look_later();
}

bool Upstream::is_unused() const noexcept {
  const auto unused = [](const auto& host) { return host == nullptr || host->pool.is_unused(); };
  return std::all_of(hosts_.begin(), hosts_.end(), unused) &&
         std::all_of(retired_.begin(), retired_.end(), unused);
}

Upstream::Usable Upstream::usable(Instant now) const {
  Usable sum;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i] == nullptr || !replicas_.is_in(i)) continue;
    ++sum.replicas;
    if (!replicas_.is_out(i, now)) ++sum.usable;
  }
  return sum;
}

void Upstream::describe(ClusterState& state, Instant now) const {
  state.left_out = std::max(state.left_out, left_out_);
  state.has_zones = !zone_.empty() && !config_.zones.empty();
  state.own_zone_picks = replicas_.zone_picks().own;
  state.other_zone_picks = replicas_.zone_picks().other;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i] == nullptr || !replicas_.is_in(i)) continue;
    const http::Pool& pool = hosts_[i]->pool;
    const bool ejected = replicas_.state(i, now) == admit::BreakerState::open;
    std::string name = replica_name(pool.endpoint());
    const std::optional<ReplicaVerdict> verdict = config_.health_check && health_ != nullptr
                                                      ? std::optional(health_->find(name))
                                                      : std::nullopt;
    add_replica(state, {.endpoint = std::move(name),
                        .outstanding = replicas_.outstanding(i),
                        .ejected_on = ejected ? 1U : 0U,
                        .latency = replicas_.latency(i, now) / static_cast<std::int64_t>(loops_),
                        .connections = pool.connections(),
                        .idle = pool.idle(),
                        .waiting = pool.waiting(),
                        .health = verdict ? std::string(kHealthStateNames[verdict->state]) : "",
                        .health_reason = verdict ? verdict->reason : "",
                        .zone = zone_of(pool.endpoint())});
  }
}

}  // namespace damper::proxy
