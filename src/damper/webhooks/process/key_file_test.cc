#include "damper/webhooks/process/key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace damper::webhooks {
namespace {

class KeyFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/damper-key-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    options_.store = folder_ + "/webhooks.db";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

  std::string folder_;
  ServeOptions options_;
};

TEST_F(KeyFile, IsMadeForANewStoreAndReadByItsOwnerAlone) {
  const auto first = open_sealer(options_);
  ASSERT_TRUE(first) << first.error();
  struct stat status {};
  ASSERT_EQ(::stat((options_.store + ".key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  const auto second = open_sealer(options_);  // The same key, not a new one.
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->unseal(Id{1}, first->seal(Id{1}, "x")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(KeyFile, IsNotMadeForAStoreThatExists) {
  write(options_.store, "content");
  const auto sealer = open_sealer(options_);
  ASSERT_FALSE(sealer);
  EXPECT_NE(sealer.error().find("webhooks.db.key\" does not exist, and without it the secrets"),
            std::string::npos)
      << sealer.error();
  EXPECT_FALSE(std::filesystem::exists(options_.store + ".key"));
}

TEST_F(KeyFile, ThatIsNamedMustExist) {
  options_.secret_key_file = folder_ + "/keys";
  const auto missing = open_sealer(options_);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(), "the key file \"" + folder_ + "/keys\" cannot be read");
  write(options_.secret_key_file, "not a key\n");
  const auto wrong = open_sealer(options_);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error(), "the key file \"" + folder_ +
                               "/keys\": line 1 is not a key: it must be 32 bytes as base64");
  write(options_.secret_key_file, Sealer::make_key_file());
  EXPECT_TRUE(open_sealer(options_));
}

TEST_F(KeyFile, OfAFleetIsNeverMade) {
  options_.store = "postgres://db/webhooks";
  const auto sealer = open_sealer(options_);
  ASSERT_FALSE(sealer);
  EXPECT_TRUE(sealer.error().starts_with("secret_key_file is missing")) << sealer.error();
}

}  // namespace
}  // namespace damper::webhooks
