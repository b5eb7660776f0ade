#include "damper/cli/ctl/ctl_screen.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <string>

namespace damper::cli {
namespace {

// A terminal whose other end is ours.
class Terminal {
 public:
  Terminal() {
    const winsize size{.ws_row = 5, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(openpty(&ours, &theirs, nullptr, nullptr, &size), 0);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    close(ours);
    close(theirs);
  }
  void press(const char* keys) const { EXPECT_GT(write(ours, keys, std::string(keys).size()), 0); }
  // What was shown up to a mark.
  [[nodiscard]] std::string shown(const std::string& mark) const {
    std::string text;
    while (text.find(mark) == std::string::npos) {
      char buffer[1024];
      const ssize_t count = read(ours, buffer, sizeof(buffer));
      if (count <= 0) break;
      text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
  }

  int ours = -1;
  int theirs = -1;
};

const std::atomic<bool> kNotInterrupted{false};

TEST(Screen, ShowsWhatFitsAndGivesTheTerminalBack) {
  const Terminal terminal;
  termios before{};
  tcgetattr(terminal.theirs, &before);
  {
    Screen screen(terminal.theirs, terminal.theirs);
    EXPECT_EQ(screen.rows(), 5U);
    screen.show("1\n2\n3\n4\n5\n6\n7\n");
    termios during{};
    tcgetattr(terminal.theirs, &during);
    EXPECT_EQ(during.c_lflag & static_cast<tcflag_t>(ECHO), 0U);
  }
  const std::string text = terminal.shown("\x1b[?1049l");
  EXPECT_EQ(text.find("\x1b[?1049h"), 0U);
  EXPECT_NE(text.find("5\x1b[K\x1b[J"), std::string::npos) << text;
  EXPECT_EQ(text.find('6'), std::string::npos);
  termios after{};
  tcgetattr(terminal.theirs, &after);
  EXPECT_EQ(after.c_lflag, before.c_lflag);
}

TEST(Screen, EndsWithQAndNotWithOtherKeys) {
  const Terminal terminal;
  const Screen screen(terminal.theirs, terminal.theirs);
  terminal.press("x");
  EXPECT_FALSE(screen.wants_to_leave(std::chrono::milliseconds(5), kNotInterrupted));
  terminal.press("q");
  EXPECT_TRUE(screen.wants_to_leave(std::chrono::seconds(5), kNotInterrupted));
}

TEST(Screen, EndsWhenItIsInterruptedOrNobodyIsThere) {
  Terminal terminal;
  const Screen screen(terminal.theirs, terminal.theirs);
  const std::atomic<bool> interrupted{true};
  EXPECT_TRUE(screen.wants_to_leave(std::chrono::seconds(5), interrupted));
  close(terminal.ours);
  terminal.ours = -1;
  EXPECT_TRUE(screen.wants_to_leave(std::chrono::seconds(5), kNotInterrupted));
}

}  // namespace
}  // namespace damper::cli
