#include "damper/proxy/process/proxy_settings.h"

#include <gtest/gtest.h>

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;

const ProxySettings kFlags{.flags = {.listen = {":8080"}, .to = {"http://127.0.0.1:9000"}}};

TEST(ProxySettings, FlagsAloneAreAProxyWithAdminPages) {
  const auto config = make_proxy_config(kFlags, "", "the command line");
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ(count_parts(*config), "1 listener, 1 cluster, 1 route");
  ASSERT_TRUE(config->admin);
  EXPECT_EQ(config->admin->port, 9901);
}

TEST(ProxySettings, AFlagGoesBeforeTheFile) {
  ProxySettings settings = kFlags;
  settings.threads = 3;
  settings.access_log = AccessLog::all;
  settings.drain_time = 7s;
  settings.flags.token_file = "/run/token";
  const auto config = make_proxy_config(settings, "", "x");
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ(config->threads, 3U);
  EXPECT_EQ(config->access_log, AccessLog::all);
  EXPECT_EQ(config->drain_time, 7s);
  EXPECT_EQ(config->admin->token_file, "/run/token");
  settings.flags.admin_off = true;
  EXPECT_FALSE(make_proxy_config(settings, "", "x")->admin);
}

TEST(ProxySettings, AListenerHasNoMoreConnectionsThanDescriptors) {
  EXPECT_EQ(most_connections(1000), 750U);
  EXPECT_EQ(most_connections(0), 1U);
  ProxySettings settings = kFlags;
  settings.most_connections = 10'000;
  EXPECT_TRUE(make_proxy_config(settings, "", "x")->notes.empty());
  settings.most_connections = 750;
  const auto config = make_proxy_config(settings, "", "x");
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ(config->listeners[0].max_connections, 750U);
  ASSERT_EQ(config->notes.size(), 1U);
  EXPECT_EQ(to_string(config->notes[0]),
            "x: listeners." + config->listeners[0].name +
                ".max_connections is 10000; the limit of file descriptors allows 750 (ulimit -n)");
}

TEST(ProxySettings, AllListenersShareTheDescriptors) {
  EXPECT_EQ(most_held(1000), 125U);
  EXPECT_EQ(most_held(0), 1U);
  const auto bounds = [](std::size_t most) {
    ProxySettings settings;
    settings.most_connections = most;
    settings.most_held = 125;
    const auto config = make_proxy_config(settings,
                                          "listeners:\n"
                                          "  a: {address: \"127.0.0.1:1\"}\n"
                                          "  b: {address: \"127.0.0.1:2\", max_connections: 50}\n"
                                          "  c: {address: \"127.0.0.1:3\", max_connections: 900}\n"
                                          "clusters: {d: {endpoints: [\"http://127.0.0.1:4\"]}}\n"
                                          "routes: {e: {cluster: d}}\n",
                                          "x");
    std::vector<std::size_t> all;
    for (const auto& listener : config->listeners) all.push_back(listener.max_connections);
    all.push_back(config->notes.size());
    EXPECT_EQ(config->max_held, 125U);
    return all;
  };
  using Bounds = std::vector<std::size_t>;
  EXPECT_EQ(bounds(10'950), (Bounds{10'000, 50, 900, 0}));
  EXPECT_EQ(bounds(10'949), (Bounds{9'999, 50, 900, 1}));
  EXPECT_EQ(bounds(750), (Bounds{350, 50, 350, 2}));
  EXPECT_EQ(bounds(90), (Bounds{30, 30, 30, 3}));
  EXPECT_EQ(bounds(1), (Bounds{1, 1, 1, 3}));
}

TEST(ProxySettings, AnErrorHasItsPlace) {
  const auto config = make_proxy_config({}, "listeners:\n  web: {prot: 1}\n", "damper.yaml");
  ASSERT_FALSE(config);
  EXPECT_TRUE(config.error().starts_with("damper.yaml:2:")) << config.error();
  const auto text = read_proxy_file({.file = "/nowhere/damper.yaml"});
  ASSERT_FALSE(text);
  EXPECT_TRUE(text.error().starts_with("/nowhere/damper.yaml: ")) << text.error();
  EXPECT_EQ(*read_proxy_file({}), "");
}

TEST(ProxySettings, ATokenFileLetsTheAdminPagesListenOnEveryAddress) {
  ProxySettings settings = kFlags;
  settings.flags.admin = "0.0.0.0:9901";
  EXPECT_FALSE(make_proxy_config(settings, "", "x"));
  settings.flags.token_file = "/run/token";
  EXPECT_TRUE(make_proxy_config(settings, "", "x"));
}

TEST(ProxySettings, TheStartSaysWhereAndWhatToTry) {
  const auto config = make_proxy_config(kFlags, "", "x");
  ASSERT_TRUE(config);
  const std::string text = describe_start(*config, {8080}, 9901);
  EXPECT_NE(text.find(": 127.0.0.1:8080\n"), std::string::npos) << text;
  EXPECT_NE(text.find(": http://127.0.0.1:9000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("http://127.0.0.1:9901/  (damper ctl status)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("curl -i http://127.0.0.1:8080/\n"), std::string::npos) << text;
  const std::string elsewhere = describe_start(*config, {8080}, 9902);
  EXPECT_NE(elsewhere.find("(damper ctl --admin 127.0.0.1:9902 status)\n"), std::string::npos)
      << elsewhere;
}

}  // namespace
}  // namespace damper::proxy
