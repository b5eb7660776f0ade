#include "damper/observe/log_writers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace damper::observe {
namespace {

// A pipe whose ends are closed with it.
struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends.data()), 0); }
  ~Pipe() {
    for (const int end : ends) (void)close(end);
  }
  void close_reader() {
    (void)close(ends[0]);
    ends[0] = -1;
  }
  std::string read_some() {
    std::array<char, 65536> buffer{};
    const ssize_t size = read(ends[0], buffer.data(), buffer.size());
    return {buffer.data(), static_cast<std::size_t>(size)};
  }
  std::array<int, 2> ends{};
};

std::string path_of(const std::string& name) {
  return testing::TempDir() + "damper_log_" + std::to_string(getpid()) + "_" + name;
}

std::string content(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

TEST(LogWriters, WriteALineToADescriptor) {
  Pipe pipe;
  write_to(pipe.ends[1])("one\n");
  EXPECT_EQ(pipe.read_some(), "one\n");
}

TEST(LogWriters, AFullPipeLosesTheLineInsteadOfWaiting) {  // Invariants (1) and (2).
  Pipe pipe;
  const TransitionLog::Writer writer = write_to(pipe.ends[1]);
  const std::string line = std::string(1023, 'x') + '\n';
  int written = 0;
  try {
    for (; written < 10'000; ++written) writer(line);
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), EAGAIN);
  }
  EXPECT_GE(written, 4);
  ASSERT_LT(written, 10'000);
  std::string all;
  while (all.size() < static_cast<std::size_t>(written) * line.size()) all += pipe.read_some();
  EXPECT_EQ(all.size(), static_cast<std::size_t>(written) * line.size());  // No part of a line.
  writer("room again\n");
  EXPECT_EQ(pipe.read_some(), "room again\n");
}

TEST(LogWriters, APipeWithoutAReaderDoesNotEndTheProcess) {  // Invariant (2).
  Pipe pipe;
  pipe.close_reader();
  EXPECT_THROW(write_to(pipe.ends[1])("one\n"), std::system_error);
  EXPECT_THROW(write_to(-1)("one\n"), std::system_error);
}

TEST(LogWriters, ALogCountsWhatItsWriterLoses) {
  Pipe pipe;
  pipe.close_reader();
  TransitionLog log(write_to(pipe.ends[1]));
  log.on_event({.kind = engine::EventKind::first_failure, .key = "db", .detail = {}});
  EXPECT_EQ(log.dropped(), 1U);
}

TEST(LogWriters, AFileIsAppendedToAndReadableByItsGroupAtMost) {
  const std::string path = path_of("append");
  std::ofstream(path) << "before\n";
  (void)chmod(path.c_str(), 0600);
  {
    auto writer = append_to(path);
    ASSERT_TRUE(writer);
    (*writer)("after\n");
  }
  EXPECT_EQ(content(path), "before\nafter\n");
  std::remove(path.c_str());

  { ASSERT_TRUE(append_to(path)); }
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0137U, 0U);
  std::remove(path.c_str());
}

TEST(LogWriters, AFileThatCannotBeOpenedIsOneSentence) {
  EXPECT_EQ(append_to("/no/such/folder/log").error(),
            "/no/such/folder/log: cannot be opened for the log: No such file or directory");
}

TEST(LogWriters, TheFileIsClosedWithTheLastCopyOfItsWriter) {
  const std::string path = path_of("closed");
  const int before = open("/dev/null", O_RDONLY);
  (void)close(before);
  { const TransitionLog log(*append_to(path)); }
  const int after = open("/dev/null", O_RDONLY);
  (void)close(after);
  EXPECT_EQ(before, after);  // The lowest free descriptor.
  std::remove(path.c_str());
}

}  // namespace
}  // namespace damper::observe
