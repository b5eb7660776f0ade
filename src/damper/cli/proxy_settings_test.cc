#include "damper/cli/proxy_settings.h"

#include <gtest/gtest.h>

namespace damper::cli {
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
  settings.access_log = proxy::AccessLog::all;
  settings.drain_time = 7s;
  settings.token_file = "/run/token";
  const auto config = make_proxy_config(settings, "", "x");
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ(config->threads, 3U);
  EXPECT_EQ(config->access_log, proxy::AccessLog::all);
  EXPECT_EQ(config->drain_time, 7s);
  EXPECT_EQ(config->admin->token_file, "/run/token");
  settings.admin_off = true;
  EXPECT_FALSE(make_proxy_config(settings, "", "x")->admin);
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

proxy::ProxyConfig two_listeners() {
  proxy::ProxyConfig config;
  config.listeners.resize(2);
  config.listeners[0].name = "web";
  config.listeners[0].port = 8080;
  config.listeners[1].name = "inner";
  config.listeners[1].port = 8081;
  return config;
}

TEST(ProxySettings, ASocketIsTheListenersOfItsNameOrOfItsPlace) {
  proxy::ProxyConfig config = two_listeners();
  config.admin.emplace();
  const SocketMatch match = match_sockets(
      config, {{"damper-admin", 3, {"127.0.0.1", 9901}},
               {"inner", 4, {"127.0.0.1", 1}},             // By its name.
               {"damper.socket", 5, {"127.0.0.1", 8080}},  // By where it is.
               {"damper.socket", 6, {"0.0.0.0", 8080}}});  // Of more than was asked for.
  EXPECT_EQ(match.admin, 3);
  ASSERT_EQ(match.listeners.size(), 2U);
  EXPECT_EQ(match.listeners[0].listener, "inner");
  EXPECT_EQ(match.listeners[0].fd, 4);
  EXPECT_EQ(match.listeners[1].listener, "web");
  EXPECT_EQ(match.listeners[1].fd, 5);
  ASSERT_EQ(match.nobodys.size(), 1U);
  EXPECT_EQ(match.nobodys[0].fd, 6);
}

TEST(ProxySettings, TheOnlySocketIsTheOnlyListeners) {
  proxy::ProxyConfig config = two_listeners();
  const std::vector<ListenFd> one = {{"damper.socket", 3, {"0.0.0.0", 80}}};
  EXPECT_EQ(match_sockets(config, one).listeners.size(), 0U);
  config.listeners.resize(1);
  EXPECT_EQ(match_sockets(config, one).listeners.size(), 1U);
}

TEST(ProxySettings, SystemdsSocketsAreUsedOnAnyPortThoseOfAPredecessorOnTheRightOne) {
  const proxy::ProxyConfig config = two_listeners();
  const std::vector<ListenFd> one = {{"web", 3, {"127.0.0.1", 9}}};
  const SocketMatch systemd = match_sockets(config, one);
  ASSERT_EQ(systemd.listeners.size(), 1U);
  EXPECT_TRUE(systemd.listeners[0].any_port);
  EXPECT_EQ(match_sockets(config, one, {.predecessor = true}).nobodys.size(), 1U);
  const SocketMatch given = match_sockets(config, one, {.predecessor = true, .given = {"web"}});
  ASSERT_EQ(given.listeners.size(), 1U);
  EXPECT_TRUE(given.listeners[0].any_port);
  const std::vector<ListenFd> right = {{"web", 3, {"127.0.0.1", 8080}}};
  const SocketMatch same = match_sockets(config, right, {.predecessor = true});
  ASSERT_EQ(same.listeners.size(), 1U);
  EXPECT_FALSE(same.listeners[0].any_port);
}

TEST(ProxySettings, AnAdminSocketThatNobodyWantsIsNobodys) {
  proxy::ProxyConfig config = two_listeners();
  const std::vector<ListenFd> one = {{"damper-admin", 3, {"127.0.0.1", 9901}}};
  EXPECT_EQ(match_sockets(config, one).nobodys.size(), 1U);
  config.admin.emplace();
  EXPECT_EQ(match_sockets(config, one, {.predecessor = true}).admin, 3);
  config.admin->port = 9902;
  EXPECT_EQ(match_sockets(config, one, {.predecessor = true}).nobodys.size(), 1U);
}

TEST(ProxySettings, ATokenFileLetsTheAdminPagesListenOnEveryAddress) {
  ProxySettings settings = kFlags;
  settings.flags.admin = "0.0.0.0:9901";
  EXPECT_FALSE(make_proxy_config(settings, "", "x"));
  settings.token_file = "/run/token";
  EXPECT_TRUE(make_proxy_config(settings, "", "x"));
}

TEST(ProxySettings, TheStartSaysWhereAndWhatToTry) {
  const auto config = make_proxy_config(kFlags, "", "x");
  ASSERT_TRUE(config);
  const std::string text = describe_start(*config, {8080}, 9901);
  EXPECT_NE(text.find(": 127.0.0.1:8080\n"), std::string::npos) << text;
  EXPECT_NE(text.find(": http://127.0.0.1:9000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("http://127.0.0.1:9901/"), std::string::npos) << text;
  EXPECT_NE(text.find("curl -i http://127.0.0.1:8080/\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace damper::cli
