// Not under tsan: no thread is started.
#include "damper/proxy/process/proxy_settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "damper/proxy/control/fleet_control.h"
#include "damper/proxy/control/fleet_copy.h"

namespace damper::proxy {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class ProxyChoices : public testing::Test {
 protected:
  ProxyChoices() { fs::create_directories(folder_); }
  ~ProxyChoices() override { fs::remove_all(folder_); }

  const fs::path folder_ =
      fs::temp_directory_path() / ("damper-choices-" + std::to_string(getpid()));
  ProxySettings settings_{.control = "etcd://127.0.0.1:1/damper",  // Nobody listens there.
                          .state_dir = folder_.string()};
  std::ostringstream err_;
};

TEST_F(ProxyChoices, WithoutAControlThereIsTheFileOrTheCommandLine) {
  const auto flags = find_choices({}, nullptr, 1s, err_);
  ASSERT_TRUE(flags);
  EXPECT_EQ(*flags, (std::vector<ProxyChoice>{{"", "the command line"}}));
  const std::string file = (folder_ / "damper.yaml").string();
  EXPECT_FALSE(find_choices({.file = file}, nullptr, 1s, err_));  // It is not there.
  std::ofstream(file) << "text";
  const auto choices = find_choices({.file = file}, nullptr, 1s, err_);
  ASSERT_TRUE(choices);
  EXPECT_EQ(*choices, (std::vector<ProxyChoice>{{"text", file}}));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ProxyChoices, WithEtcdAwayTheCopyGoesBeforeTheFile) {
  ASSERT_EQ(save_fleet(folder_.string(), {.policy = "copy"}), std::nullopt);
  FleetControl control(*parse_control_address(settings_.control), folder_.string());
  const auto choices = find_choices(settings_, &control, 100ms, err_);
  ASSERT_TRUE(choices) << choices.error();
  EXPECT_EQ(*choices, (std::vector<ProxyChoice>{{"copy", settings_.control, true},
                                                {"", "the command line"}}));
  EXPECT_EQ(
      err_.str(),
      "damper: etcd://127.0.0.1:1/damper does not answer (connect_refused): starting with the "
      "copy in " +
          folder_.string() + "\n");
}

TEST_F(ProxyChoices, ACopyThatCannotBeReadIsSaidAndPassedOver) {
  std::ofstream(folder_ / kFleetFile) << "nonsense";
  FleetControl control(*parse_control_address(settings_.control), folder_.string());
  const auto choices = find_choices(settings_, &control, 20ms, err_);
  ASSERT_TRUE(choices) << choices.error();
  EXPECT_EQ(choices->size(), 1U);
  EXPECT_NE(err_.str().find("fleet.json"), std::string::npos) << err_.str();
  EXPECT_NE(err_.str().find("starting with the command line"), std::string::npos) << err_.str();
}

}  // namespace
}  // namespace damper::proxy
