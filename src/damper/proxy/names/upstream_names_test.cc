#include "damper/proxy/data/upstream_names.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "damper/proxy/data/proxy_testing.h"

namespace damper::proxy {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// What names stand for, which a test may change; asked by the proxy's thread.
class FakeResolver final : public http::Resolver {
 public:
  void resolve(const std::string& host, Done done) override {
    std::vector<std::string> addresses;
    {
      const std::lock_guard lock(mutex_);
      ++asked_;
      if (const auto found = table_.find(host); found != table_.end()) addresses = found->second;
    }
    done(std::move(addresses));
  }
  void set(const std::string& host, std::vector<std::string> addresses) {
    const std::lock_guard lock(mutex_);
    table_[host] = std::move(addresses);
    asked_ = 0;
  }
  // Waits until it was asked so often since the last change.
  [[nodiscard]] bool was_asked(int times) {
    return soon([&] {
      const std::lock_guard lock(mutex_);
      return asked_ >= times;
    });
  }

 private:
  std::mutex mutex_;
  Addresses table_;
  int asked_ = 0;
};

TEST(UpstreamNames, AreThereWhenWatchReturnsAndFollowTheirChanges) {
  FakeResolver resolver;
  resolver.set("a", {"10.0.0.2", "10.0.0.1", "10.0.0.2"});
  std::atomic<int> changes = 0;
  UpstreamNames names(&resolver, [&] { ++changes; });
  names.watch({{"a", milliseconds(2)}, {"nobody", milliseconds(2)}}, seconds(5));
  EXPECT_EQ(*names.current(), (Addresses{{"a", {"10.0.0.1", "10.0.0.2"}}}));
  EXPECT_TRUE(soon([&] { return changes == 1; }));
  resolver.set("a", {"10.0.0.2", "10.0.0.1"});  // In another order.
  EXPECT_TRUE(resolver.was_asked(6));
  EXPECT_EQ(changes, 1);
  resolver.set("a", {"10.0.0.3"});
  EXPECT_TRUE(soon([&] { return changes == 2; }));
  EXPECT_EQ(*names.current(), (Addresses{{"a", {"10.0.0.3"}}}));
  resolver.set("a", {});  // It fails: what was known stays.
  EXPECT_TRUE(resolver.was_asked(6));
  EXPECT_EQ(changes, 2);
  EXPECT_EQ(*names.current(), (Addresses{{"a", {"10.0.0.3"}}}));
  names.watch({}, seconds(5));
  EXPECT_TRUE(names.current()->empty());
}

TEST(UpstreamNames, ASilentResolverIsNotWaitedForForLong) {
  class Silent final : public http::Resolver {
   public:
    void resolve(const std::string& /*host*/, Done done) override { kept_.push_back(done); }

   private:
    std::vector<Done> kept_;
  } resolver;
  UpstreamNames names(&resolver, [] {});
  names.watch({{"a", seconds(1)}}, milliseconds(5));
  EXPECT_TRUE(names.current()->empty());
}

TEST(Proxy, EachAddressOfANameIsAReplicaAndItFollowsTheName) {
  TestBackend one("one");
  TestBackend two("two", {.address = "127.0.0.2", .port = one.port()});
  FakeResolver resolver;
  resolver.set("api.test", {"127.0.0.1"});
  ProxyConfig config = config_for({"http://api.test:" + std::to_string(one.port())});
  config.clusters[0].dns.refresh = milliseconds(5);
  const auto proxy = start(config, {.resolver = &resolver});
  http::RawClient client(proxy->port("web"));
  EXPECT_TRUE(says(ask(client), "one"));
  resolver.set("api.test", {"127.0.0.1", "127.0.0.2"});
  EXPECT_TRUE(soon([&] { return proxy->state().clusters[0].replicas.size() == 2; }));
  EXPECT_TRUE(soon([&] { return says(ask(client), "two"); }));
  resolver.set("api.test", {});  // Lookups fail.
  EXPECT_TRUE(resolver.was_asked(3));
  EXPECT_EQ(proxy->state().clusters[0].replicas.size(), 2U);
  resolver.set("api.test", {"127.0.0.2"});
  EXPECT_TRUE(soon([&] { return proxy->state().clusters[0].replicas.size() == 1; }));
  EXPECT_EQ(proxy->state().clusters[0].replicas[0].endpoint,
            config.clusters[0].endpoints[0] + " 127.0.0.2");
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(says(ask(client), "two"));
  EXPECT_TRUE(soon([&] { return one.connections() == 0; }));
  // A name that a reload brings is there when it returns.
  resolver.set("new.test", {"127.0.0.1"});
  config.clusters[0].endpoints = {"http://new.test:" + std::to_string(one.port())};
  ASSERT_FALSE(proxy->reload(config));
  EXPECT_TRUE(says(ask(client), "one"));
}

}  // namespace
}  // namespace damper::proxy
