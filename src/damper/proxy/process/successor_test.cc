#include "damper/proxy/process/successor.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace damper::proxy {
namespace {

int listening_socket() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  EXPECT_EQ(listen(fd, 1), 0);
  return fd;
}

// A new process that is a shell with this script.
Expected<Successor> start(const std::string& script, int sockets = 0) {
  SuccessorPlan plan{.command = {.path = "/bin/sh", .arguments = {"sh", "-c", script}},
                     .sockets = {},
                     .signals = {}};
  sigemptyset(&plan.signals);
  for (int i = 0; i < sockets; ++i) {
    plan.sockets.emplace_back("s" + std::to_string(i), listening_socket());
  }
  auto out = Successor::start(plan);
  for (const auto& socket : plan.sockets) close(socket.second);
  return out;
}

Successor::State state_of(Successor& successor) {
  pollfd news{.fd = successor.fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&news, 1, 10'000), 1);
  return successor.on_ready();
}

int exit_status(const Successor& successor) {
  int status = 0;
  waitpid(successor.pid(), &status, 0);
  return WEXITSTATUS(status);
}

TEST(Successor, SaysReadyByAByteInThePipe) {
  auto one = start("echo >&$DAMPER_READY_FD; exit 3");
  ASSERT_TRUE(one) << one.error();
  EXPECT_EQ(state_of(*one), Successor::State::ready);
  EXPECT_EQ(exit_status(*one), 3);
}

TEST(Successor, OneThatEndsWithoutTheByteHasFailed) {
  auto one = start("exit 3");
  ASSERT_TRUE(one);
  EXPECT_EQ(state_of(*one), Successor::State::failed);
  EXPECT_EQ(one->end(), "it exited with status 3");
}

TEST(Successor, OneThatSaysNothingIsEnded) {
  auto one = start("exec sleep 60");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->end(), "it did not say in time that it serves, and was ended");
}

TEST(Successor, AFileThatCannotBeRunHasFailed) {
  SuccessorPlan plan{.command = {.path = "/nowhere/damper", .arguments = {"damper"}},
                     .sockets = {},
                     .signals = {}};
  auto one = Successor::start(plan);
  ASSERT_TRUE(one);
  EXPECT_EQ(state_of(*one), Successor::State::failed);
  EXPECT_EQ(one->end(), "its file could not be run");
}

TEST(Successor, HasTheSocketsFromThreeOnAndNothingElseOfOurs) {
  const int ours = listening_socket();
  auto one = start(
      "test \"$LISTEN_PID $LISTEN_FDS $LISTEN_FDNAMES\" = \"$$ 2 s0:s1\" || exit 1; "
      "test -S /proc/$$/fd/3 || exit 2; test -S /proc/$$/fd/4 || exit 3; "
      "test -p /proc/$$/fd/5 || exit 4; test $DAMPER_READY_FD = 5 || exit 5; "
      "for i in 6 7 8 9 20 30; do test ! -e /proc/$$/fd/$i || exit 6; done; exit 0",
      2);
  ASSERT_TRUE(one);
  EXPECT_EQ(exit_status(*one), 0);
  close(ours);
}

TEST(Successor, ThePathIsTheOneThatWasCalledSoThatAReplacedFileIsTheNewOne) {
  EXPECT_EQ(own_path("/bin/sh", "/", "", "/x"), "/bin/sh");
  EXPECT_EQ(own_path("./sh", "/bin", "", "/x"), "/bin/./sh");
  EXPECT_EQ(own_path("sh", "/", "/nowhere:/bin", "/x"), "/bin/sh");
  EXPECT_EQ(own_path("no-such-program", "/", "/nowhere:/bin", "/x/damper (deleted)"), "/x/damper");
  EXPECT_EQ(own_path("/nowhere/damper", "/", "", "/x/damper"), "/x/damper");
}

TEST(Successor, TheOwnCommandIsTheWholeLine) {
  const auto command = find_own_command();
  ASSERT_TRUE(command) << command.error();
  EXPECT_TRUE(std::filesystem::equivalent(command->path, "/proc/self/exe"));
  EXPECT_GE(command->arguments.size(), 1U);
}

TEST(Successor, HasAMessageToReadBehindTheSockets) {
  SuccessorPlan plan{
      .command = {.path = "/bin/sh",
                  .arguments = {"sh", "-c",
                                "test $DAMPER_READY_FD$DAMPER_HANDOVER_FD = 34 || exit 1; "
                                "test \"$(cat <&4)\" = 'a message' || exit 2"}},
      .sockets = {},
      .message = "a message\n",
      .signals = {}};
  auto one = Successor::start(plan);
  ASSERT_TRUE(one);
  EXPECT_EQ(exit_status(*one), 0);
  EXPECT_EQ(take_message(), "");  // Nobody gave us one.
  const int file = memfd_create("message", 0);
  ASSERT_EQ(write(file, "text", 4), 4);
  lseek(file, 0, SEEK_SET);
  setenv("DAMPER_HANDOVER_FD", std::to_string(file).c_str(), 1);
  EXPECT_EQ(take_message(), "text");
  EXPECT_EQ(getenv("DAMPER_HANDOVER_FD"), nullptr);
}

TEST(Successor, OneThatIsAskedToEndEndsByItself) {
  auto one = start("trap 'exit 4' TERM; echo >&$DAMPER_READY_FD; while :; do sleep 0.01; done");
  ASSERT_TRUE(one);
  EXPECT_EQ(state_of(*one), Successor::State::ready);
  EXPECT_FALSE(one->has_ended());
  one->ask_to_end();
  EXPECT_EQ(exit_status(*one), 4);
}

TEST(Successor, WithoutAPipeNobodyIsTold) {
  for (const char* nonsense : {"", "x", "-1", "1", "99999", "3x"}) {
    setenv("DAMPER_READY_FD", nonsense, 1);
    EXPECT_EQ(take_ready_fd(), std::nullopt) << nonsense;
    EXPECT_EQ(getenv("DAMPER_READY_FD"), nullptr);
  }
}

}  // namespace
}  // namespace damper::proxy
