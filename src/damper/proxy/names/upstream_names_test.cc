#include "damper/proxy/names/upstream_names.h"

#include <gtest/gtest.h>

#include <mutex>

#include "damper/http/dns/dns_testing.h"
#include "damper/observe/process_event.h"
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
  UpstreamNames names(&resolver, nullptr, [&] { ++changes; });
  const NameRule often{.every = milliseconds(2)};
  names.watch({{"a", often}, {"nobody", often}}, seconds(5));
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
  UpstreamNames names(&resolver, nullptr, [] {});
  names.watch({{"a", {.every = seconds(1)}}}, milliseconds(5));
  EXPECT_TRUE(names.current()->empty());
}

// Names that a DNS server of the test has, looked up every few milliseconds.
class DnsNames : public testing::Test {
 protected:
  static constexpr NameRule kOften{.every = kForever,
                                   .shortest = milliseconds(1),
                                   .longest = milliseconds(2),
                                   .needs_dns = true};
  static constexpr const char* kService = "_http._tcp.api.test";

  void watch(const std::string& name) {
    names_.watch({{name, kOften}}, seconds(5), {server_.server().text()});
  }
  [[nodiscard]] std::vector<std::string> current(const std::string& name) const {
    const auto all = names_.current();
    const auto found = all->find(name);
    return found == all->end() ? std::vector<std::string>{} : found->second;
  }
  // Waits for lookups that begin from now on.
  [[nodiscard]] bool looks_up_again() {
    const std::size_t before = server_.queries();
    return soon([&] { return server_.queries() >= before + 6; });
  }
  [[nodiscard]] NameState state() const {
    const std::vector<NameState> all = names_.describe(run::now());
    return all.size() == 1 ? all[0] : NameState{};
  }
  [[nodiscard]] std::string metrics() const {
    observe::Exposition out(100);
    names_.write_metrics(run::now(), out);
    return out.text();
  }
  [[nodiscard]] std::vector<std::string> events() const { return log_.events(); }

  http::TestDnsServer server_;
  std::atomic<int> changes_ = 0;

 private:
  // Not the fixture itself, whose destruction begins before that of names_.
  class Log final : public engine::EventSink {
   public:
    [[nodiscard]] std::vector<std::string> events() const {
      const std::lock_guard lock(mutex_);
      return said_;
    }

   private:
    void on_event(const engine::Event& event) noexcept override {
      const std::lock_guard lock(mutex_);
      said_.push_back(std::string(event.kind.text()) + " " + std::string(event.detail));
    }

    mutable std::mutex mutex_;
    std::vector<std::string> said_;
  };

  Log log_;

 protected:
  UpstreamNames names_{nullptr, &log_, [this] { ++changes_; }};
};
using Texts = std::vector<std::string>;

TEST_F(DnsNames, AServiceIsPlacesThatFollowItsRecords) {
  const std::string key = service_key({.tls = false, .name = kService});
  server_.set_service(kService, 1, {{.port = 8080, .target = "a.test"}});
  server_.set_addresses("a.test", 1, {"10.0.0.2", "10.0.0.1"});
  watch(key);
  EXPECT_EQ(current(key), (Texts{"10.0.0.1:8080", "10.0.0.2:8080"}));
  EXPECT_TRUE(looks_up_again());
  EXPECT_EQ(changes_, 1);
  server_.set_service(kService, 1, {{.port = 8081, .target = "a.test"}});
  EXPECT_TRUE(soon([&] { return changes_ == 2; }));
  EXPECT_EQ(current(key), (Texts{"10.0.0.1:8081", "10.0.0.2:8081"}));
  EXPECT_EQ(events(), Texts{"name_changed srv:_http._tcp.api.test has 2 addresses; new: "
                            "10.0.0.1:8081, 10.0.0.2:8081; gone: 10.0.0.1:8080, 10.0.0.2:8080"});
}

TEST_F(DnsNames, ANameThatFailsKeepsItsAddresses) {
  server_.set_addresses("api.test", 1, {"10.0.0.1"});
  watch("api.test");
  EXPECT_EQ(current("api.test"), Texts{"10.0.0.1"});
  EXPECT_EQ(state().failures, 0U);
  EXPECT_EQ(state().addresses, "10.0.0.1");
  server_.fail_with(2);
  EXPECT_TRUE(soon([&] { return state().failures >= 2; }));
  EXPECT_EQ(state().reason, "server_failed");
  EXPECT_EQ(current("api.test"), Texts{"10.0.0.1"});
  server_.fail_with(3);  // Neither is the sudden absence of the name believed.
  EXPECT_TRUE(soon([&] { return state().reason == "no_name"; }));
  EXPECT_EQ(current("api.test"), Texts{"10.0.0.1"});
  EXPECT_EQ(changes_, 1);
  EXPECT_GE(state().age, Duration{0});
  const std::string text = metrics();
  EXPECT_NE(text.find("damper_dns_name_addresses{name=\"api.test\"} 1"), std::string::npos) << text;
  EXPECT_EQ(text.find("damper_dns_lookups_total{result=\"failed\"} 0"), std::string::npos) << text;
  EXPECT_EQ(text.find("damper_dns_lookups_total{result=\"not_found\"} 0"), std::string::npos);
  EXPECT_NE(text.find("damper_dns_ignored_answers_total 0"), std::string::npos) << text;
  server_.fail_with(0);
  EXPECT_TRUE(soon([&] { return state().failures == 0; }));
  EXPECT_EQ(events(), (Texts{"name_failed api.test: server_failed; it keeps its 1 address",
                             "name_restored api.test has 1 address"}));
}

TEST_F(DnsNames, ANameThatIsNotThereHasNoAddressesUntilItIs) {
  watch("api.test");
  EXPECT_TRUE(current("api.test").empty());
  EXPECT_EQ(state().count, 0U);
  server_.set_addresses("api.test", 1, {"10.0.0.1"});
  EXPECT_TRUE(soon([&] { return !current("api.test").empty(); }));
  EXPECT_EQ(events(), (Texts{"name_failed api.test: no_name; it has no addresses",
                             "name_restored api.test has 1 address"}));
}

TEST_F(DnsNames, ANameThatIsNotWatchedAnyMoreIsForgotten) {
  server_.set_addresses("api.test", 1, {"10.0.0.1"});
  watch("api.test");
  watch("other.test");
  EXPECT_TRUE(current("api.test").empty());
  EXPECT_EQ(state().name, "other.test");
}

TEST(Proxy, AServiceIsItsReplicasAndTheyOutliveItsServer) {
  TestBackend one("one");
  TestBackend two("two");
  http::TestDnsServer dns;
  dns.set_service("_http._tcp.api.test", 0, {{.port = one.port(), .target = "a.test"}});
  dns.set_addresses("a.test", 0, {"127.0.0.1"});
  ProxyConfig config = config_for({"http+srv://_http._tcp.api.test"});
  config.clusters[0].dns = {
      .respect_ttl = true, .min_refresh = milliseconds(5), .max_refresh = milliseconds(10)};
  config.dns_resolvers = {dns.server().text()};
  const auto proxy = start(config);
  const auto replicas = [&] {
    std::vector<std::string> names;
    const ProxyState state = proxy->state();
    for (const ReplicaState& replica : state.clusters[0].replicas) {
      names.push_back(replica.endpoint);
    }
    return names;
  };
  const auto at = [](const TestBackend& backend) {
    return "http://api.test:" + std::to_string(backend.port()) + " 127.0.0.1";
  };
  http::RawClient client(proxy->port("web"));
  EXPECT_TRUE(says(ask(client), "one"));
  EXPECT_EQ(replicas(), Texts{at(one)});
  dns.set_service("_http._tcp.api.test", 0, {{.port = two.port(), .target = "a.test"}});
  EXPECT_TRUE(soon([&] { return replicas() == Texts{at(two)}; }));
  EXPECT_TRUE(says(ask(client), "two"));
  dns.stop();
  EXPECT_TRUE(soon([&] { return proxy->state().names.at(0).failures >= 2; }));
  EXPECT_EQ(proxy->state().names.at(0).name, "srv:_http._tcp.api.test");
  EXPECT_EQ(replicas(), Texts{at(two)});
  EXPECT_TRUE(says(ask(client), "two"));
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
