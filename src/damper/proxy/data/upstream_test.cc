#include "damper/proxy/data/upstream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "damper/http/net/net_testing.h"
#include "damper/proxy/data/proxy_testing.h"

namespace damper::proxy {
namespace {

using decide::Outcome;
using std::chrono::milliseconds;

const std::optional<http::TlsSettings> kPlain;

// Everything but connections: nothing is dialed.
class UpstreamTest : public testing::Test {
 protected:
  [[nodiscard]] Upstream::Setting setting(std::uint32_t loops = 1) const {
    return {
        .config = config_, .tls = kPlain, .addresses = addresses_, .loops = loops, .zone = zone_};
  }
  [[nodiscard]] std::vector<std::string> replicas(const Upstream& upstream) {
    ClusterState state;
    upstream.describe(state, loop_.now());
    std::vector<std::string> names;
    for (const ReplicaState& replica : state.replicas) names.push_back(replica.endpoint);
    return names;
  }

  http::Loop loop_;
  ClusterConfig config_ = cluster_of("c", {"http://10.0.0.1:80", "http://10.0.0.2:80"});
  http::ReplicaLease pick(Upstream& upstream, double draw, balance::ReplicaSet tried = {},
                          std::optional<std::uint64_t> key = std::nullopt) {
    return upstream.pick_next(tried, {}, loop_.now(), draw, key);
  }
  Addresses addresses_;
  std::string zone_;
};
using Names = std::vector<std::string>;

TEST_F(UpstreamTest, ALeaseKeepsItsPoolWhateverGoesAway) {
  Upstream upstream(loop_, setting());
  EXPECT_EQ(replicas(upstream), (Names{"http://10.0.0.1", "http://10.0.0.2"}));
  http::ReplicaLease lease = pick(upstream, 0);
  ASSERT_TRUE(lease);
  const http::Endpoint endpoint = lease.pool().endpoint();
  config_.endpoints = {"http://10.0.0.3:80"};
  upstream.reload(setting());
  EXPECT_EQ(replicas(upstream), Names{"http://10.0.0.3"});
  EXPECT_FALSE(upstream.is_unused());
  http::Watchdog watchdog(loop_, milliseconds(200));  // Some turns of its timer.
  EXPECT_EQ(lease.pool().endpoint(), endpoint);
  for (int i = 0; i < 10; ++i) {
    http::ReplicaLease other = pick(upstream, i / 10.0);
    EXPECT_EQ(other.pool().endpoint().host, "10.0.0.3");
    other.settle(Outcome::success, loop_.now());
    EXPECT_FALSE(other);
  }
  watchdog.cancel();
  lease.settle(Outcome::success, loop_.now());
  lease.settle(Outcome::success, loop_.now());  // Nothing happens.
  loop_.run();                                  // Until the timer finds it unused.
  EXPECT_TRUE(upstream.is_unused());
}

TEST_F(UpstreamTest, AReloadKeepsBreakersOfWhatStaysAlsoWithNewPools) {
  config_.replicas.breaker.consecutive_failures = 2;
  Upstream upstream(loop_, setting());
  const balance::ReplicaSet but_first("10");
  http::Pool* first = nullptr;
  for (int i = 0; i < 2; ++i) {
    http::ReplicaLease lease = pick(upstream, 0, but_first);
    ASSERT_EQ(lease.replica(), 0U);
    first = &lease.pool();
    lease.settle(Outcome::transient, loop_.now());
  }
  const auto ejected = [&] {
    ClusterState state;
    upstream.describe(state, loop_.now());
    return state.replicas[0].ejected_on;
  };
  EXPECT_EQ(ejected(), 1U);
  upstream.reload(setting());
  EXPECT_EQ(ejected(), 1U);
  config_.pool.max_connections = 3;
  upstream.reload(setting());
  EXPECT_EQ(ejected(), 1U);
  config_.endpoints.pop_back();  // Alone it is asked whatever it did.
  upstream.reload(setting());
  http::ReplicaLease lease = pick(upstream, 0);
  ASSERT_TRUE(lease);
  EXPECT_NE(&lease.pool(), first);
  lease.settle(Outcome::success, loop_.now());
}

TEST_F(UpstreamTest, WithoutAnAddressThereIsNoLeaseAndWithEveryBreakerOpenThereIsOne) {
  config_.endpoints = {"http://api.test:80"};
  Upstream upstream(loop_, setting());
  EXPECT_FALSE(pick(upstream, 0));
  addresses_["api.test"] = {"10.0.0.1", "10.0.0.2"};
  upstream.use(addresses_);
  EXPECT_EQ(replicas(upstream), (Names{"http://api.test 10.0.0.1", "http://api.test 10.0.0.2"}));
  for (int i = 0; i < 40; ++i) {
    http::ReplicaLease lease = pick(upstream, i / 40.0);
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease.pool().authority(), "api.test");  // The name, wherever it is.
    lease.settle(Outcome::transient, loop_.now());
  }
}

TEST_F(UpstreamTest, AddressesOverTheBoundAreLeftOutAndCounted) {
  config_.endpoints = {"http://api.test:80"};
  for (int i = 0; i < 300; ++i) {
    addresses_["api.test"].push_back("10.0." + std::to_string(i / 100) + "." +
                                     std::to_string(i % 100));
  }
  const Upstream upstream(loop_, setting());
  ClusterState state;
  upstream.describe(state, loop_.now());
  EXPECT_EQ(state.replicas.size(), balance::kMostReplicas);
  EXPECT_EQ(state.left_out, 300 - balance::kMostReplicas);
}

TEST_F(UpstreamTest, AddressesThatWereLeftOutComeInWhenNumbersAreFree) {
  config_.endpoints = {"http://api.test:80"};
  for (std::size_t i = 0; i < balance::kMostReplicas; ++i) {
    addresses_["api.test"].push_back("10.0.0." + std::to_string(i));
  }
  Upstream upstream(loop_, setting());
  http::ReplicaLease lease = pick(upstream, 0);
  addresses_["api.test"][lease.replica()] = "10.0.1.1";  // While the old one is in use.
  upstream.use(addresses_);
  EXPECT_EQ(replicas(upstream).size(), balance::kMostReplicas - 1);
  lease.settle(Outcome::success, loop_.now());
  loop_.run();  // Until the timer has nothing to do.
  EXPECT_EQ(replicas(upstream).size(), balance::kMostReplicas);
  ClusterState state;
  upstream.describe(state, loop_.now());
  EXPECT_EQ(state.left_out, 0U);
}

TEST_F(UpstreamTest, AKeyHasItsReplicaWhateverTheOrderOfTheFileAndAnEjectedOneIsSkipped) {
  config_ = cluster_of("c", {"http://10.0.0.1", "http://10.0.0.2", "http://10.0.0.3"});
  config_.replicas.lb_policy = balance::LbPolicy::consistent_hash;
  Upstream upstream(loop_, setting());
  std::reverse(config_.endpoints.begin(), config_.endpoints.end());
  Upstream reversed(loop_, setting());
  const auto host_of = [&](Upstream& of, std::uint64_t key, balance::ReplicaSet tried = {}) {
    http::ReplicaLease lease = pick(of, 0.5, tried, key);
    const std::string host = lease.pool().endpoint().host;
    lease.settle(Outcome::success, loop_.now());
    return host;
  };
  std::set<std::string> hosts;
  for (std::uint64_t key = 0; key < 50; ++key) {
    hosts.insert(host_of(upstream, key));
    EXPECT_EQ(host_of(upstream, key), host_of(reversed, key));
  }
  EXPECT_EQ(hosts.size(), 3U);
  const std::string first = host_of(upstream, 7);
  for (int i = 0; i < 5; ++i) {
    http::ReplicaLease lease = pick(upstream, 0.5, {}, 7);
    lease.settle(Outcome::unavailable, loop_.now());
  }
  EXPECT_NE(host_of(upstream, 7), first);
}

TEST_F(UpstreamTest, AttemptsStayInTheZoneOfTheProxyAndAReloadMovesThem) {
  config_ = cluster_of("c", {"http://api.test", "http://10.0.0.9"});
  config_.zones = {{"http://api.test", "a"}, {"http://10.0.0.9", "b"}};
  addresses_["api.test"] = {"10.0.0.1", "10.0.0.2"};
  zone_ = "a";
  Upstream upstream(loop_, setting());
  const auto own_picks = [&](int count) {
    int own = 0;
    for (int i = 0; i < count; ++i) {
      http::ReplicaLease lease = pick(upstream, i / static_cast<double>(count));
      own += lease.pool().endpoint().host == "api.test" ? 1 : 0;
      lease.settle(Outcome::success, loop_.now());
    }
    return own;
  };
  EXPECT_EQ(own_picks(40), 40);
  ClusterState state;
  upstream.describe(state, loop_.now());
  EXPECT_TRUE(state.has_zones);
  EXPECT_EQ(state.own_zone_picks, 40U);
  EXPECT_EQ(state.other_zone_picks, 0U);
  std::map<std::string, int> zones;
  for (const ReplicaState& replica : state.replicas) ++zones[replica.zone];
  EXPECT_EQ(zones, (std::map<std::string, int>{{"a", 2}, {"b", 1}}));
  zone_ = "b";
  upstream.reload(setting());
  EXPECT_LT(own_picks(40), 20);  // 1 of 3 replicas: 93 % of the requests stay in "b".
  zone_ = "c";                   // Has no replica: there is no preference.
  upstream.reload(setting());
  EXPECT_GT(own_picks(40), 10);
  addresses_["api.test"].clear();
  zone_ = "a";
  upstream.reload(setting());
  EXPECT_EQ(own_picks(10), 0);  // The only replica.
}

TEST(ShareOf, IsRoundedUp) {
  EXPECT_EQ(share_of(10, 4), 3U);
  EXPECT_EQ(share_of(8, 4), 2U);
  EXPECT_EQ(share_of(1, 4), 1U);
  EXPECT_EQ(share_of(0, 4), 0U);
}

}  // namespace
}  // namespace damper::proxy
