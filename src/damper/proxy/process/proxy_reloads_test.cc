#include "damper/proxy/process/proxy_reloads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "damper/proxy/data/proxy.h"
#include "damper/proxy/process/test_proxy_testing.h"

namespace damper::proxy {
namespace {

class Events final : public engine::EventSink {
 public:
  void on_event(const engine::Event& event) noexcept override {
    said += std::string(engine::name(event.kind)) + ' ';
    detail = event.detail;
  }
  std::string said;
  std::string detail;
};

constexpr const char* kFirst = "http://127.0.0.1:1";
constexpr const char* kSecond = "http://127.0.0.1:2";
constexpr const char* kFleet = "http://127.0.0.1:3";

std::string text_to(const std::string& to, std::uint16_t port = 0) {
  return "listeners: {web: {address: ':" + std::to_string(port) +
         "'}}\nclusters: {c: {endpoints: [" + to + "]}}\n";
}

class ProxyReloadsTest : public testing::Test {
 protected:
  ProxyReloadsTest() { write(text_to(kFirst)); }
  ~ProxyReloadsTest() override { std::filesystem::remove(settings_.file); }
  void write(const std::string& text) const { std::ofstream(settings_.file) << text; }
  [[nodiscard]] bool shows(const std::string& sample) {
    return proxy_->registry().expose().find(sample) != std::string::npos;
  }

  [[nodiscard]] std::string endpoint() const { return proxy_->config()->clusters[0].endpoints[0]; }

  using When = ProxyReloads::When;
  const ProxySettings settings_{.file = (std::filesystem::temp_directory_path() /
                                         ("damper-reloads-" + std::to_string(getpid()) + ".yaml"))
                                            .string(),
                                .control = "etcd://a/x"};
  const std::unique_ptr<Proxy> proxy_ =
      start_proxy(*make_proxy_config(settings_, text_to(kFirst), "test"));
  Events events_;
  ProxyReloads reloads_{settings_, *proxy_, events_, text_to(kFirst)};
};

TEST_F(ProxyReloadsTest, AFileThatDidNotChangeIsNotGivenUnlessItIsAskedFor) {
  EXPECT_EQ(reloads_.reload_file(When::if_changed), std::nullopt);
  EXPECT_EQ(events_.said, "");
  EXPECT_TRUE(shows("damper_proxy_reloads_total{result=\"unchanged\"} 1"));
  EXPECT_EQ(reloads_.reload_file(When::always), std::nullopt);
  EXPECT_EQ(events_.said, "policy_reloaded ");
  write(text_to(kSecond));
  EXPECT_EQ(reloads_.reload_file(When::if_changed), std::nullopt);
  EXPECT_EQ(endpoint(), kSecond);
}

TEST_F(ProxyReloadsTest, ABadFileChangesNothingAndSaysWhyOnce) {
  write("nonsense: 1\n");
  const auto why = reloads_.reload_file(When::if_changed);
  ASSERT_TRUE(why);
  EXPECT_TRUE(why->starts_with(settings_.file + ":1:1: ")) << *why;
  EXPECT_EQ(proxy_->version(), 1U);
  EXPECT_TRUE(shows("damper_proxy_reloads_total{result=\"refused\"} 1"));
  EXPECT_EQ(reloads_.reload_file(When::if_changed), std::nullopt);  // The same bad file.
  EXPECT_EQ(events_.said, "policy_refused ");
  const TakenPort taken;
  write(text_to(kSecond, taken.port()));
  EXPECT_TRUE(reloads_.reload_file(When::if_changed));
  EXPECT_EQ(endpoint(), kFirst);
  std::filesystem::remove(settings_.file);
  EXPECT_TRUE(reloads_.reload_file(When::if_changed));
}

TEST_F(ProxyReloadsTest, TheFleetsPolicyStandsBeforeTheFileOnceItIsGood) {
  EXPECT_TRUE(reloads_.use_fleet("nonsense: 1\n"));
  EXPECT_EQ(reloads_.reload_file(When::always), std::nullopt);  // Still the file's.
  EXPECT_EQ(reloads_.use_fleet(text_to(kFleet)), std::nullopt);
  EXPECT_EQ(endpoint(), kFleet);
  EXPECT_EQ(reloads_.reload_file(When::always),
            "the fleet's policy is in force: change it in etcd");
  const std::uint64_t version = proxy_->version();
  EXPECT_EQ(reloads_.use_fleet(text_to(kFleet)), std::nullopt);
  EXPECT_EQ(proxy_->version(), version);
}

TEST_F(ProxyReloadsTest, AFleetsPolicyThatWasRefusedIsTriedAgainAndSaysWhyOnce) {
  TakenPort taken;
  const std::string text = text_to(kFleet, taken.port());
  write(text_to(kSecond, taken.port()));
  const auto why = reloads_.use_fleet(text);
  ASSERT_TRUE(why);
  EXPECT_EQ(reloads_.use_fleet(text), why);
  EXPECT_EQ(events_.said, "policy_refused ");
  EXPECT_EQ(reloads_.reload_file(When::always), why);  // An explicit reload reports it again.
  EXPECT_EQ(events_.said, "policy_refused policy_refused policy_refused ");  // And the file's.
  taken.release();
  EXPECT_EQ(reloads_.use_fleet(text), std::nullopt);
  EXPECT_EQ(endpoint(), kFleet);
}

TEST_F(ProxyReloadsTest, AReloadThatIsAskedForTriesTheFleetsPolicyThatWasRefused) {
  reloads_.on_fleet_at_start(text_to(kFleet), false);  // It did not start with it.
  EXPECT_EQ(reloads_.reload_file(When::if_changed), std::nullopt);
  EXPECT_EQ(endpoint(), kFirst);
  EXPECT_EQ(reloads_.reload_file(When::always), std::nullopt);
  EXPECT_EQ(endpoint(), kFleet);
  EXPECT_EQ(reloads_.reload_file(When::always),
            "the fleet's policy is in force: change it in etcd");
}

TEST_F(ProxyReloadsTest, WhatAReloadCannotChangeIsSaid) {
  write(text_to(kSecond) + "threads: 3\nadmin: {address: ':9902', token_file: /t}\n");
  EXPECT_EQ(reloads_.reload_file(When::if_changed), std::nullopt);
  EXPECT_EQ(events_.detail,
            settings_.file +
                ": threads and admin.address stay as they were until a restart; SIGUSR2 is one");
  write(text_to(kSecond) + "admin: off\n");
  EXPECT_EQ(reloads_.reload_file(When::if_changed), std::nullopt);
  EXPECT_EQ(events_.detail,
            settings_.file + ": admin stays as it was until a restart; SIGUSR2 is one");
  write(text_to(kSecond) + "threads: 3\n");
  EXPECT_EQ(reloads_.reload_file(When::if_changed), std::nullopt);
  EXPECT_EQ(events_.detail,
            settings_.file + ": threads stays as it was until a restart; SIGUSR2 is one");
  write(text_to(kSecond));
  EXPECT_EQ(reloads_.reload_file(When::if_changed), std::nullopt);
  EXPECT_EQ(events_.detail, settings_.file);
}

}  // namespace
}  // namespace damper::proxy
