#include "damper/cli/commands.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/cli/program_testing.h"

namespace damper::cli {
namespace {

// What a process does that was started: tests/proxy_program.

TEST(ProxyCommand, HelpHasExamples) {
  const Result result = damper({"proxy", "--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.out.find("damper proxy --listen :8080 --to"), std::string::npos);
}

TEST(ProxyCommand, ValidatePrintsWhatThereIs) {
  const Result result =
      damper({"proxy", "--listen", ":8080", "--to", "http://127.0.0.1:9000", "--validate"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "the command line is valid: 1 listener, 1 cluster, 1 route\n");
  EXPECT_EQ(result.err, "");
}

TEST(ProxyCommand, TroubleIsOneSentence) {
  const std::vector<std::vector<std::string>> all = {
      {},
      {"--listen", ":8080", "--validate"},
      {"--listen", "nowhere", "--to", "http://a", "--validate"},
      {"--listen", ":8080", "--to", "ftp://a", "--validate"},
      {"-c", "/nowhere/damper.yaml", "--validate"},
      {"--control", "etcd://127.0.0.1:2379/x"},
      {"--control", "http://127.0.0.1:2379/x", "--validate"},
      {"--control", "etcds://a/x", "--control-ca", "/nowhere", "--validate"},
      {"--listen", ":8080", "--to", "http://a", "--control-key", "/nowhere", "--validate"},
      {"--listen", ":8080", "--to", "http://a", "--drain-time", "soon"},
      {"--listen", ":8080", "--to", "http://a", "--threads", "0"},
      {"--listen", ":8080", "--to", "http://a", "--threads", "257"},
      {"--listen", ":8080", "--to", "http://a", "--access-log", "some"},
      {"--listen", ":8080", "--to", "http://a", "--log-format", "xml"},
      {"--listen", ":8080", "--to", "http://a", "--admin", "nowhere", "--validate"}};
  for (std::vector<std::string> arguments : all) {
    arguments.insert(arguments.begin(), "proxy");
    const Result result = damper(arguments);
    EXPECT_EQ(result.status, 2) << arguments.back();
    EXPECT_EQ(result.out, "") << arguments.back();
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  }
}

}  // namespace
}  // namespace damper::cli
