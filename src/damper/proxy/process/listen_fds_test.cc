#include "damper/proxy/process/listen_fds.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace damper::proxy {
namespace {

using Names = std::vector<std::string>;

TEST(ListenFds, WhatIsForThisProcessHasItsNames) {
  EXPECT_EQ(*parse_listen_fds("7", "2", "web:admin", 7), (Names{"web", "admin"}));
  EXPECT_EQ(*parse_listen_fds("7", "2", nullptr, 7), (Names{"", ""}));
  EXPECT_EQ(*parse_listen_fds("7", "2", "web", 7), (Names{"web", ""}));
  EXPECT_EQ(*parse_listen_fds("7", "1", "web:too:many", 7), (Names{"web"}));
}

TEST(ListenFds, WhatIsForAnotherProcessIsLeftAlone) {
  EXPECT_EQ(*parse_listen_fds("8", "2", "web:admin", 7), Names{});
  EXPECT_EQ(*parse_listen_fds(nullptr, "2", "web", 7), Names{});
  EXPECT_EQ(*parse_listen_fds("7", nullptr, "web", 7), Names{});
}

TEST(ListenFds, NonsenseIsASentence) {
  for (const char* pid : {"", "x", "-1", "7x", "99999999999999999999"}) {
    EXPECT_FALSE(parse_listen_fds(pid, "1", "", 7)) << pid;
  }
  for (const char* count : {"", "x", "-1", "16386", "1 ", "99999999999999999999"}) {
    EXPECT_FALSE(parse_listen_fds("7", count, "", 7)) << count;
  }
  EXPECT_EQ(parse_listen_fds("7", "16385", "", 7)->size(), 16385U);
}

TEST(ListenFds, ANameMayHaveAColon) {
  const Names names = {"a:b", "100%", "", "%3A"};
  EXPECT_EQ(join_fd_names(names), "a%3Ab:100%25::%253A");
  EXPECT_EQ(*parse_listen_fds("7", "4", join_fd_names(names).c_str(), 7), names);
}

// In a process of its own: it moves descriptors.
int taken_in_child(bool listening) {
  const pid_t child = fork();
  if (child == 0) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) _exit(9);
    if (listening && listen(fd, 1) != 0) _exit(9);
    if (fd != kFirstListenFd) dup2(fd, kFirstListenFd);
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_FDNAMES", "web", 1);
    const auto taken = take_listen_fds();
    if (std::getenv("LISTEN_FDS") != nullptr) _exit(8);
    if (!taken) _exit(7);
    const ListenFd& one = taken->at(0);
    if (one.name != "web" || one.bound.host != "127.0.0.1" || one.bound.port == 0) _exit(6);
    _exit((fcntl(one.fd, F_GETFD) & FD_CLOEXEC) != 0 ? 0 : 5);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(ListenFds, ASocketIsTakenOnceAndClosedOnExec) { EXPECT_EQ(taken_in_child(true), 0); }
TEST(ListenFds, WhatDoesNotListenIsRefused) { EXPECT_EQ(taken_in_child(false), 7); }

TEST(ListenFds, APlaceWhereSomebodyListensIsTakenAlsoWhenHeWouldShare) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  const http::ListenAddress place = *find_bound(fd);
  EXPECT_TRUE(is_taken(place));
  EXPECT_TRUE(is_taken({"0.0.0.0", place.port}));
  EXPECT_FALSE(is_taken({"127.0.0.2", place.port}));
  close(fd);
  EXPECT_FALSE(is_taken(place));
  EXPECT_FALSE(is_taken({"127.0.0.1", 0}));
  EXPECT_FALSE(is_taken({"nowhere", 80}));
}

}  // namespace
}  // namespace damper::proxy
