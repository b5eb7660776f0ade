#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "damper/cli/program.h"

namespace damper::cli {

// A test with a folder of its own, which goes away with it, and streams that are strings.
class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "damper_cli_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + '/' + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  [[nodiscard]] static std::string read(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

  std::string folder_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  text::Stdio streams_{in_, out_, err_};
};

}  // namespace damper::cli
