#include "damper/proxy/process/file_watch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace damper::proxy {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class FileWatchTest : public testing::Test {
 protected:
  FileWatchTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~FileWatchTest() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  // Whether the kernel has something to say: at once, since the change is done.
  static bool is_ready(const FileWatch& watch) {
    pollfd ready{.fd = watch.fd(), .events = POLLIN, .revents = 0};
    return poll(&ready, 1, 0) == 1;
  }

  const fs::path folder_ = fs::temp_directory_path() / ("damper-watch-" + std::to_string(getpid()));
};

TEST_F(FileWatchTest, AWriteARenameAndANewFileAreHeardOf) {
  write("damper.yaml", "a");
  FileWatch watch(folder_ / "damper.yaml");
  EXPECT_FALSE(is_ready(watch));
  const auto change_is_heard = [&] {
    const bool ready = is_ready(watch);
    watch.on_ready(Instant{1s});
    EXPECT_EQ(watch.due(), Instant{1100ms});
    watch.on_look();
    EXPECT_EQ(watch.due(), kNever);
    return ready && !is_ready(watch);
  };
  write("damper.yaml", "b");
  EXPECT_TRUE(change_is_heard());
  write("new.yaml", "c");
  fs::rename(folder_ / "new.yaml", folder_ / "damper.yaml");  // As an editor does.
  EXPECT_TRUE(change_is_heard());
  fs::remove(folder_ / "damper.yaml");
  EXPECT_TRUE(change_is_heard());
  write("damper.yaml", "d");
  EXPECT_TRUE(change_is_heard());
}

TEST_F(FileWatchTest, AConfigMapSwapsALinkBesideTheFile) {
  fs::create_directory(folder_ / "..1");
  write("..1/damper.yaml", "a");
  fs::create_directory_symlink("..1", folder_ / "..data");
  fs::create_symlink("..data/damper.yaml", folder_ / "damper.yaml");
  FileWatch watch(folder_ / "damper.yaml");
  for (const char* const next : {"..2", "..3"}) {
    fs::create_directory(folder_ / next);
    write(std::string(next) + "/damper.yaml", next);
    fs::create_directory_symlink(next, folder_ / "..next");
    fs::rename(folder_ / "..next", folder_ / "..data");
    EXPECT_TRUE(is_ready(watch));
    watch.on_ready(Instant{1s});
    watch.on_look();
  }
  write("..3/damper.yaml", "written in place");  // The folder where the links lead now.
  EXPECT_TRUE(is_ready(watch));
}

TEST_F(FileWatchTest, AStormOfChangesIsLookedAtOnceASecond) {  // Invariant (1).
  write("damper.yaml", "a");
  FileWatch watch(folder_ / "damper.yaml");
  for (int i = 0; i <= 12; ++i) {
    write("damper.yaml", std::to_string(i));
    watch.on_ready(Instant{1s + i * 90ms});
    EXPECT_EQ(watch.due(), Instant{std::min<Duration>(1s + i * 90ms + 100ms, 2s)});
  }
  watch.on_ready(Instant{10s});  // Nothing happened.
  EXPECT_EQ(watch.due(), Instant{2s});
}

TEST_F(FileWatchTest, AFolderThatIsRemovedAndMadeAnewIsWatchedAgain) {
  const std::string file = folder_ / "a" / "b" / "damper.yaml";
  fs::create_directories(folder_ / "a" / "b");
  write("a/b/damper.yaml", "a");
  FileWatch watch(file);
  const auto change_is_heard = [&] {
    const bool ready = is_ready(watch);
    watch.on_ready(Instant{1s});
    watch.on_look();
    return ready;
  };
  fs::remove_all(folder_ / "a");
  EXPECT_TRUE(change_is_heard());
  fs::create_directory(folder_ / "a");
  EXPECT_TRUE(change_is_heard());
  fs::create_directory(folder_ / "a" / "b");
  EXPECT_TRUE(change_is_heard());
  write("a/b/damper.yaml", "b");
  EXPECT_TRUE(change_is_heard());
  fs::rename(folder_ / "a" / "b", folder_ / "a" / "c");
  EXPECT_TRUE(change_is_heard());
  watch.on_ready(Instant{2s});  // That the old watch is gone.
  write("a/c/damper.yaml", "not ours any more");
  EXPECT_FALSE(is_ready(watch));
}

TEST_F(FileWatchTest, AFolderThatIsNotThereIsNoTrouble) {
  FileWatch watch(folder_ / "nowhere" / "damper.yaml");
  EXPECT_FALSE(is_ready(watch));
  watch.on_look();
}

}  // namespace
}  // namespace damper::proxy
