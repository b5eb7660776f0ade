#include "damper/cli/files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <string>

#include "damper/cli/files_testing.h"
#include "damper/config/yaml_tree.h"

namespace damper::cli {
namespace {

using Files = FilesTest;

TEST_F(Files, AFileOrStandardInputIsRead) {
  EXPECT_EQ(*read_input(write("a", "text"), streams_), "text");
  in_.str("typed");
  EXPECT_EQ(*read_input("-", streams_), "typed");
  EXPECT_EQ(input_name("-"), "standard input");
  EXPECT_EQ(input_name("a.yaml"), "a.yaml");
}

TEST_F(Files, NoMoreIsReadThanAnybodyAccepts) {
  in_.str(std::string(config::kMostBytes + 1000, 'x'));
  EXPECT_EQ(read_input("-", streams_)->size(), config::kMostBytes + 1);
}

TEST_F(Files, WhatCannotBeReadIsOneSentence) {
  const auto missing = read_input(path("missing"), streams_);
  ASSERT_FALSE(missing);
  EXPECT_EQ(to_string(missing.error()),
            path("missing") + ": cannot be read: No such file or directory");
}

TEST_F(Files, AResultIsWrittenInFullOrNotAtAll) {
  const std::string file = write("result", "old");
  const auto print = [&](std::ostream& out) {
    out << "new";
    EXPECT_EQ(read(file), "old");  // Until all of it is there.
  };
  EXPECT_TRUE(write_output(file, streams_, print));
  EXPECT_EQ(read(file), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
  EXPECT_TRUE(write_output("-", streams_, [](std::ostream& out) { out << "shown"; }));
  EXPECT_EQ(out_.str(), "shown");
}

TEST_F(Files, WhatCannotBeWrittenIsSaid) {
  EXPECT_FALSE(write_output(path("no/such/folder"), streams_, [](std::ostream&) {}));
  EXPECT_EQ(err_.str(),
            path("no/such/folder") + ": cannot be written: No such file or directory\n");
}

TEST_F(Files, ALinkIsFollowedAndPermissionsStay) {
  const std::string file = write("result", "old");
  std::filesystem::permissions(
      file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::create_symlink(file, path("link"));
  EXPECT_TRUE(write_output(path("link"), streams_, [](std::ostream& out) { out << "new"; }));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read(file), "new");
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(Files, ADeviceIsWrittenToAndStaysOne) {
  EXPECT_TRUE(write_output("/dev/null", streams_, [](std::ostream& out) { out << "gone"; }));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(Files, StandardOutputThatIsFullIsSaid) {
  out_.setstate(std::ios::badbit);
  EXPECT_FALSE(write_output("-", streams_, [](std::ostream& out) { out << "lost"; }));
  EXPECT_EQ(err_.str().find("standard output: cannot be written: "), 0U) << err_.str();
}

}  // namespace
}  // namespace damper::cli
