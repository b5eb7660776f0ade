#include "damper/proxy/data/listener_sockets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace damper::proxy {
namespace {

void close_all(const std::vector<int>& fds) {
  for (const int fd : fds) ::close(fd);
}

TEST(ListenerSockets, EachLoopHasASocketOnOnePort) {
  auto sockets = ListenerSockets::bind("127.0.0.1", 0, 3);
  ASSERT_TRUE(bool(sockets));
  ASSERT_FALSE(sockets->listen());
  ASSERT_EQ(sockets->fds().size(), 3U);
  EXPECT_NE(sockets->port(), 0);
  for (const int fd : sockets->fds()) {
    EXPECT_EQ(find_bound(fd), (http::ListenAddress{"127.0.0.1", sockets->port()}));
  }
  for (std::size_t loop = 0; loop < 3; ++loop) {
    const std::vector<int> taken = sockets->take(loop);
    EXPECT_EQ(taken.size(), 1U);
    close_all(taken);
    EXPECT_TRUE(sockets->take(loop).empty());
  }
}

TEST(ListenerSockets, FewerSocketsThanLoopsAreSharedAndOfMoreNoneIsLeft) {
  auto two = ListenerSockets::bind("127.0.0.1", 0, 2);
  ASSERT_TRUE(bool(two));
  EXPECT_FALSE(ListenerSockets::adopt(two->fds(), 1));  // They do not listen yet.
  ASSERT_FALSE(two->listen());
  auto five = ListenerSockets::adopt(two->fds(), 5);
  ASSERT_TRUE(bool(five));
  EXPECT_EQ(five->fds().size(), 2U);
  EXPECT_EQ(five->port(), two->port());
  for (std::size_t loop = 0; loop < 5; ++loop) {
    const std::vector<int> taken = five->take(loop);
    EXPECT_EQ(taken.size(), 1U);
    close_all(taken);
  }
  auto one = ListenerSockets::adopt(two->fds(), 1);
  const std::vector<int> both = one->take(0);
  EXPECT_EQ(both.size(), 2U);
  close_all(both);
  EXPECT_FALSE(ListenerSockets::adopt({0}, 1));
}

TEST(ListenerSockets, SaysWhyNot) {
  const int taken = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(taken, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(taken, 1), 0);
  const auto place = find_bound(taken);
  ASSERT_TRUE(place);
  const auto failed = ListenerSockets::bind("127.0.0.1", place->port, 1);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error(), "cannot listen on " + place->text() + ": Address already in use");
  ::close(taken);
  EXPECT_EQ(ListenerSockets::bind("localhost", 0, 1).error(), "\"localhost\" is no IP address");
  EXPECT_FALSE(find_bound(-1));
}

TEST(ListenerSockets, WhatALoopCannotAcceptFromDoesNotListen) {
  auto sockets = ListenerSockets::bind("127.0.0.1", 0, 3);
  ASSERT_FALSE(sockets->listen());
  const std::vector<int> all = sockets->fds();
  sockets->give_up(0);
  sockets->give_up(1);
  EXPECT_EQ(sockets->fds(), std::vector<int>{all[2]});
  auto shared = ListenerSockets::adopt(sockets->fds(), 2);
  shared->give_up(1);  // The other one accepts from it.
  EXPECT_EQ(shared->fds().size(), 1U);
}

// A folder of its own for the files of Unix sockets.
class UnixSockets : public testing::Test {
 protected:
  UnixSockets() {
    std::string name = "/tmp/damper-unix-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    file_ = folder_ + "/s.sock";
  }
  ~UnixSockets() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] Expected<ListenerSockets> bind(const std::string& mode = "") const {
    return ListenerSockets::bind_unix("unix:" + file_, mode, 2);
  }
  [[nodiscard]] bool exists() const { return std::filesystem::exists(file_); }

  std::string folder_;
  std::string file_;
};

TEST_F(UnixSockets, AllLoopsShareOneAndTheFileGoesAtTheEnd) {
  {
    auto sockets = bind("0600");
    ASSERT_TRUE(sockets) << sockets.error();
    ASSERT_FALSE(sockets->listen());
    EXPECT_EQ(sockets->fds().size(), 1u);
    EXPECT_EQ(find_bound(sockets->fds()[0]), (http::ListenAddress{"unix:" + file_, 0}));
    EXPECT_TRUE(is_taken({"unix:" + file_, 0}));
    const auto mode = std::filesystem::status(file_).permissions();
    EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    for (const std::size_t loop : {0U, 1U}) {
      const std::vector<int> taken = sockets->take(loop);
      EXPECT_EQ(taken.size(), 1u);
      close_all(taken);
    }
    EXPECT_EQ(bind().error(), "cannot listen on unix:" + file_ + ": another process listens there");
  }
  EXPECT_FALSE(exists());
  EXPECT_FALSE(is_taken({"unix:" + file_, 0}));
}

TEST_F(UnixSockets, AFileThatIsLeftIsReplacedUnlessItIsNoSocket) {
  {
    auto killed = bind();
    ASSERT_FALSE(killed->listen());
    killed->keep_file();
  }
  EXPECT_TRUE(exists());
  {
    auto next = bind();
    ASSERT_TRUE(next) << next.error();
  }
  EXPECT_FALSE(exists());
  std::ofstream(file_) << "data";
  EXPECT_EQ(bind().error(), "cannot listen on unix:" + file_ + ": the file is not a socket");
  EXPECT_TRUE(exists());
}

TEST_F(UnixSockets, ADeletedFileIsNoticedAndItsSuccessorsFileStays) {
  std::optional<ListenerSockets> first(*bind());
  EXPECT_FALSE(first->has_lost_file());
  std::filesystem::remove(file_);
  EXPECT_TRUE(first->has_lost_file());
  auto next = bind();
  ASSERT_TRUE(next) << next.error();
  EXPECT_FALSE(next->has_lost_file());
  first.reset();
  EXPECT_TRUE(exists());
  next->close();
  EXPECT_FALSE(exists());
  auto abstract = ListenerSockets::bind_unix("unix:@damper-lost-file", "", 1);
  ASSERT_TRUE(abstract) << abstract.error();
  EXPECT_FALSE(abstract->has_lost_file());
}

TEST_F(UnixSockets, AnInheritedFileIsRemovedOnlyByAProcessThatHasStarted) {
  auto first = bind();
  ASSERT_FALSE(first->listen());
  {
    auto failed = ListenerSockets::adopt(first->fds(), 1);
    ASSERT_TRUE(failed);
    failed->inherit_file();
  }
  EXPECT_TRUE(exists());
  {
    auto successor = ListenerSockets::adopt(first->fds(), 1);
    successor->inherit_file();
    successor->on_started();
    first->keep_file();
    first->close();
    EXPECT_TRUE(exists());
  }
  EXPECT_FALSE(exists());
}

}  // namespace
}  // namespace damper::proxy
