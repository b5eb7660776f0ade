#include "damper/proxy/process/proxy_reloads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "damper/proxy/process/fake_proxy_testing.h"

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

std::string text_to(const std::string& to) {
  return "listeners: {web: {address: ':0'}}\nclusters: {c: {endpoints: [" + to + "]}}\n";
}

class ProxyReloadsTest : public testing::Test {
 protected:
  ProxyReloadsTest() { write(text_to("http://a:1")); }
  ~ProxyReloadsTest() override { std::filesystem::remove(settings_.file); }
  void write(const std::string& text) const { std::ofstream(settings_.file) << text; }
  [[nodiscard]] bool shows(const std::string& sample) {
    return proxy_.registry().expose().find(sample) != std::string::npos;
  }

  using When = ProxyReloads::When;
  const ProxySettings settings_{.file = (std::filesystem::temp_directory_path() /
                                         ("damper-reloads-" + std::to_string(getpid()) + ".yaml"))
                                            .string(),
                                .control = "etcd://a/x"};
  FakeProxy proxy_;
  Events events_;
  ProxyReloads reloads_{settings_, proxy_, events_, text_to("http://a:1")};
};

TEST_F(ProxyReloadsTest, AFileThatDidNotChangeIsNotGivenUnlessItIsAskedFor) {
  EXPECT_EQ(reloads_.reload_file(When::if_changed), std::nullopt);
  EXPECT_EQ(events_.said, "");
  EXPECT_TRUE(shows("damper_proxy_reloads_total{result=\"unchanged\"} 1"));
  EXPECT_EQ(reloads_.reload_file(When::always), std::nullopt);
  EXPECT_EQ(events_.said, "policy_reloaded ");
  write(text_to("http://b:1"));
  EXPECT_EQ(reloads_.reload_file(When::if_changed), std::nullopt);
  EXPECT_EQ(proxy_.given, "http://b:1");
}

TEST_F(ProxyReloadsTest, ABadFileChangesNothingAndSaysWhyOnce) {
  write("nonsense: 1\n");
  const auto why = reloads_.reload_file(When::if_changed);
  ASSERT_TRUE(why);
  EXPECT_TRUE(why->starts_with(settings_.file + ":1:1: ")) << *why;
  EXPECT_EQ(proxy_.version(), 1U);
  EXPECT_TRUE(shows("damper_proxy_reloads_total{result=\"refused\"} 1"));
  EXPECT_EQ(reloads_.reload_file(When::if_changed), std::nullopt);  // The same bad file.
  EXPECT_EQ(events_.said, "policy_refused ");
  proxy_.refuses = true;
  write(text_to("http://b:1"));
  EXPECT_EQ(reloads_.reload_file(When::if_changed), "the port is taken");
  std::filesystem::remove(settings_.file);
  EXPECT_TRUE(reloads_.reload_file(When::if_changed));
}

TEST_F(ProxyReloadsTest, TheFleetsPolicyStandsBeforeTheFileOnceItIsGood) {
  EXPECT_TRUE(reloads_.use_fleet("nonsense: 1\n"));
  EXPECT_EQ(reloads_.reload_file(When::always), std::nullopt);  // Still the file's.
  EXPECT_EQ(reloads_.use_fleet(text_to("http://fleet:1")), std::nullopt);
  EXPECT_EQ(proxy_.given, "http://fleet:1");
  EXPECT_EQ(reloads_.reload_file(When::always),
            "the fleet's policy is in force: change it in etcd");
  const std::uint64_t version = proxy_.version();
  EXPECT_EQ(reloads_.use_fleet(text_to("http://fleet:1")), std::nullopt);
  EXPECT_EQ(proxy_.version(), version);
}

TEST_F(ProxyReloadsTest, AFleetsPolicyThatWasRefusedIsTriedAgainAndSaysWhyOnce) {
  const std::string text = text_to("http://fleet:1");
  proxy_.refuses = true;
  EXPECT_EQ(reloads_.use_fleet(text), "the port is taken");
  EXPECT_EQ(reloads_.use_fleet(text), "the port is taken");
  EXPECT_EQ(events_.said, "policy_refused ");
  EXPECT_EQ(reloads_.reload_file(When::always), "the port is taken");        // Who asks is told.
  EXPECT_EQ(events_.said, "policy_refused policy_refused policy_refused ");  // The file's, too.
  proxy_.refuses = false;
  EXPECT_EQ(reloads_.use_fleet(text), std::nullopt);
  EXPECT_EQ(proxy_.given, "http://fleet:1");
}

TEST_F(ProxyReloadsTest, AReloadThatIsAskedForTriesTheFleetsPolicyThatWasRefused) {
  reloads_.on_fleet_at_start(text_to("http://fleet:1"), false);  // It did not start with it.
  EXPECT_EQ(reloads_.reload_file(When::if_changed), std::nullopt);
  EXPECT_EQ(proxy_.given, "");
  EXPECT_EQ(reloads_.reload_file(When::always), std::nullopt);
  EXPECT_EQ(proxy_.given, "http://fleet:1");
  EXPECT_EQ(reloads_.reload_file(When::always),
            "the fleet's policy is in force: change it in etcd");
}

TEST_F(ProxyReloadsTest, WhatAReloadCannotChangeIsSaid) {
  write(text_to("http://b:1") + "threads: 3\nadmin: {address: ':9902', token_file: /t}\n");
  EXPECT_EQ(reloads_.reload_file(When::if_changed), std::nullopt);
  EXPECT_EQ(events_.detail,
            settings_.file +
                ": threads and admin.address stay as they were until a restart; SIGUSR2 is one");
  write(text_to("http://b:1") + "admin: off\n");
  EXPECT_EQ(reloads_.reload_file(When::if_changed), std::nullopt);
  EXPECT_EQ(events_.detail,
            settings_.file + ": admin stays as it was until a restart; SIGUSR2 is one");
  write(text_to("http://b:1") + "threads: 3\n");
  EXPECT_EQ(reloads_.reload_file(When::if_changed), std::nullopt);
  EXPECT_EQ(events_.detail,
            settings_.file + ": threads stays as it was until a restart; SIGUSR2 is one");
  write(text_to("http://b:1"));
  EXPECT_EQ(reloads_.reload_file(When::if_changed), std::nullopt);
  EXPECT_EQ(events_.detail, settings_.file);
}

}  // namespace
}  // namespace damper::proxy
