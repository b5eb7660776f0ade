// Not under tsan: no thread is started.
#include "damper/proxy/process/listen_fds.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "damper/proxy/data/listener_sockets.h"

namespace damper::proxy {
namespace {

ProxyConfig two_listeners() {
  ProxyConfig config;
  config.listeners.resize(2);
  config.listeners[0].name = "web";
  config.listeners[0].port = 8080;
  config.listeners[1].name = "inner";
  config.listeners[1].port = 8081;
  return config;
}

TEST(ProxySockets, ASocketIsTheListenersOfItsNameOrOfItsPlace) {
  ProxyConfig config = two_listeners();
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

TEST(ProxySockets, TheOnlySocketIsTheOnlyListeners) {
  ProxyConfig config = two_listeners();
  const std::vector<ListenFd> one = {{"damper.socket", 3, {"0.0.0.0", 80}}};
  EXPECT_EQ(match_sockets(config, one).listeners.size(), 0U);
  config.listeners.resize(1);
  EXPECT_EQ(match_sockets(config, one).listeners.size(), 1U);
}

TEST(ProxySockets, SystemdsSocketsAreUsedOnAnyPortThoseOfAPredecessorOnTheRightOne) {
  const ProxyConfig config = two_listeners();
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

TEST(ProxySockets, AnAdminSocketThatNobodyWantsIsNobodys) {
  ProxyConfig config = two_listeners();
  const std::vector<ListenFd> one = {{"damper-admin", 3, {"127.0.0.1", 9901}}};
  EXPECT_EQ(match_sockets(config, one).nobodys.size(), 1U);
  config.admin.emplace();
  EXPECT_EQ(match_sockets(config, one, {.predecessor = true}).admin, 3);
  config.admin->port = 9902;
  EXPECT_EQ(match_sockets(config, one, {.predecessor = true}).nobodys.size(), 1U);
}

TEST(ProxySockets, APlaceThatAnotherHasIsTakenUnlessItsSocketWasGiven) {
  auto other = ListenerSockets::bind("127.0.0.1", 0, 1);
  ASSERT_TRUE(other) << other.error();
  ASSERT_EQ(other->listen(), std::nullopt);
  ProxyConfig config = two_listeners();
  config.listeners[0].port = other->port();
  config.listeners[1].port = 0;
  const std::string place = "127.0.0.1:" + std::to_string(other->port());
  EXPECT_EQ(find_taken(config, {}),
            "cannot listen on " + place +
                ": another process listens there; stop it, or choose another port");
  SocketMatch match;
  match.listeners.push_back({.listener = "web", .fd = 3});
  EXPECT_EQ(find_taken(config, match), std::nullopt);
  config.admin.emplace().port = other->port();
  const auto why = find_taken(config, match);
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("--admin"), std::string::npos) << *why;
  match.admin = 4;
  EXPECT_EQ(find_taken(config, match), std::nullopt);
}

}  // namespace
}  // namespace damper::proxy
