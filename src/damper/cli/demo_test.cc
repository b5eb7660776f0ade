#include "damper/cli/commands.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <streambuf>

#include "damper/cli/program_testing.h"
#include "damper/run/interrupt.h"

namespace damper::cli {
namespace {

// Interrupts the process when the first second of the demo has been told.
class Impatient : public std::stringbuf {
 protected:
  int sync() override {
    if (str().find("An outage, 1s") != std::string::npos) std::raise(SIGINT);
    return 0;
  }
};

TEST(Demo, AnInterruptEndsItWithWhatWasSeen) {
  const std::string page = testing::TempDir() + "damper_demo_test.html";
  std::filesystem::remove(page);
  std::istringstream in;
  Impatient buffer;
  std::ostream out(&buffer);
  std::ostringstream err;
  EXPECT_EQ(run({"demo", "--seconds-per-act", "60", "--html", page}, {in, out, err}),
            run::kInterrupted)
      << err.str();
  EXPECT_NE(buffer.str().find("An outage was interrupted."), std::string::npos) << buffer.str();
  EXPECT_NE(buffer.str().find("The same with charts: " + page), std::string::npos);
  EXPECT_NE(buffer.str().find("damper proxy --help"), std::string::npos);
  std::ifstream file(page);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_NE(text.find("</html>"), std::string::npos);
  std::filesystem::remove(page);
}

TEST(Demo, ItsLengthHasBounds) {
  EXPECT_EQ(damper({"demo", "--seconds-per-act", "1"}).status, kTrouble);
  EXPECT_EQ(damper({"demo", "--seconds-per-act", "601"}).status, kTrouble);
}

}  // namespace
}  // namespace damper::cli
