#include "damper/cli/commands.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "damper/cli/program_testing.h"

namespace damper::cli {
namespace {

constexpr const char* kGrpc =
    "{\"methodConfig\": [{\"name\": [{\"service\": \"s\"}], \"timeout\": \"2s\"}],\n"
    " \"retryThrottling\": {\"maxTokens\": 10, \"tokenRatio\": 0.1}, \"healthCheckConfig\": {}}";

TEST(Import, PrintsThePolicyAndNotesApart) {
  const Result result = damper({"import", "-"}, kGrpc);
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(result.out.starts_with("# From standard input, as gRPC means it.\nroutes:\n  \"s\":"))
      << result.out;
  EXPECT_EQ(
      result.err,
      "standard input:2:21: note: tokens become a budget: tokenRatio of the successes in "
      "10s, and half of maxTokens in reserve, which successes refill one for one. It "
      "differs from gRPC's rule, where every failure takes a token: gRPC stops all retries when "
      "more than about tokenRatio of the calls fail, this budget still grants tokenRatio of "
      "them\n"
      "standard input:2:59: note: healthCheckConfig of the service config has no equivalent "
      "and is left out\n");
  const Result checked = damper({"check", "--quiet", "-"}, result.out);
  EXPECT_EQ(checked.status, 0) << checked.err;
}

constexpr const char* kEnvoy = R"(static_resources:
  listeners:
  - name: web
    address: { socket_address: { address: 127.0.0.1, port_value: 8080 } }
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          use_remote_address: true
          route_config: { virtual_hosts: [{ name: shop, domains: ["*"], routes: [
            { match: { prefix: / }, route: { cluster: shop, timeout: 2s } }] }] }
  clusters:
  - name: shop
    load_assignment: { endpoints: [{ lb_endpoints: [{ endpoint: { address: {
      socket_address: { address: 10.0.0.1, port_value: 9000 } } } }] }] }
)";

TEST(Import, AnEnvoyFileBecomesAFileThatTheProxyAccepts) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "damper_import_envoy_test";
  std::filesystem::create_directories(folder);
  const std::string out = (folder / "damper.yaml").string();
  const Result result = damper({"import", "-", "-o", out}, kEnvoy);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("standard input:11:13: note: without a retry_policy Envoy does not "
                            "retry: num_retries becomes 0\n"),
            std::string::npos)
      << result.err;
  const Result valid = damper({"proxy", "-c", out, "--validate"});
  EXPECT_EQ(valid.status, 0) << valid.err;
  EXPECT_NE(valid.out.find("is valid: 1 listener"), std::string::npos) << valid.out;
  EXPECT_EQ(damper({"check", "--quiet", out}).status, 0);
  std::filesystem::remove_all(folder);
}

TEST(Import, AnEnvoyFileWithoutListenersIsAPolicyAsBefore) {
  const Result result =
      damper({"import", "-"},
             "virtual_hosts: [{ name: shop, domains: [\"*\"], routes: [{ match: { "
             "prefix: / }, route: { cluster: shop } }] }]");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.err.starts_with("standard input: note: the result is a policy file"));
  EXPECT_TRUE(result.out.starts_with("# From standard input, as Envoy means it.\nroutes:\n"))
      << result.out;
}

TEST(Import, TheSystemMayBeSaid) {
  EXPECT_EQ(damper({"import", "--from", "grpc", "-"}, kGrpc).status, 0);
  const Result other = damper({"import", "--from", "linkerd", "-"}, kGrpc);
  EXPECT_EQ(other.status, 2);
  EXPECT_EQ(other.out, "");
  const Result wrong = damper({"import", "--from", "envoi", "-"}, kGrpc);
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(wrong.err,
            "damper: --from must be one of envoy, grpc, istio, linkerd, not \"envoi\"; did you "
            "mean envoy?\n");
}

TEST(Import, WhatCannotBeImportedIsTroubleInOneLine) {
  for (const char* text : {"", "a: 1", "a: [", "{methodConfig: 1}"}) {
    const Result result = damper({"import", "-"}, text);
    EXPECT_EQ(result.status, 2) << text;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  }
}

TEST(Import, AFileIsReadAndWritten) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "damper_import_test";
  std::filesystem::create_directories(folder);
  const std::string in = (folder / "in.json").string();
  const std::string out = (folder / "out.yaml").string();
  std::ofstream(in) << kGrpc;
  const Result result = damper({"import", in, "-o", out});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "");
  std::ostringstream written;
  written << std::ifstream(out).rdbuf();
  EXPECT_TRUE(written.str().starts_with("# From " + in + ", as gRPC means it.\n"));
  EXPECT_EQ(damper({"import", in, "-o", folder.string()}).status, 2);
  const Result directory = damper({"import", folder.string()});
  EXPECT_EQ(directory.err, folder.string() + ": cannot be read: it is a directory\n");
  std::filesystem::remove_all(folder);
}

TEST(Import, AFileThatIsNotThereIsTrouble) {
  const Result result = damper({"import", "/nowhere/a.yaml"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "/nowhere/a.yaml: cannot be read: No such file or directory\n");
}

TEST(Import, HelpHasExamples) {
  const Result result = damper({"import", "--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.out.find("damper import istio.yaml -o damper.yaml"), std::string::npos);
}

}  // namespace
}  // namespace damper::cli
