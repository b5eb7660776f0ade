#include "damper/webhooks/process/serve_options.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "damper/base/folder_testing.h"
#include "damper/webhooks/process/proxy_credentials.h"

namespace damper::webhooks {
namespace {

TEST(ServeOptions, AnExponentialScheduleIsThePolicys) {
  const auto listed = load_serve_options("delivery: { retries: [1s] }", "f");
  ASSERT_TRUE(listed) << listed.error();
  EXPECT_FALSE(dispatcher_options(*listed).policy.backoff);
  const auto options = load_serve_options(
      "delivery: { schedule: equal, backoff_base: 2s, backoff_cap: 1h, max_attempts: 7 }", "f");
  ASSERT_TRUE(options) << options.error();
  const engine::DeliveryPolicy policy = dispatcher_options(*options).policy;
  ASSERT_TRUE(policy.backoff);
  EXPECT_EQ(policy.backoff->jitter, schedule::Jitter::equal);
  EXPECT_EQ(policy.backoff->base, std::chrono::seconds(2));
  EXPECT_EQ(policy.backoff->cap, std::chrono::hours(1));
  EXPECT_EQ(policy.max_attempts, 7);
}

TEST(ServeOptions, ABoundThatIsAnotherKeysValueNamesTheKeyOfTheFile) {
  EXPECT_EQ(load_serve_options("delivery: { schedule: full, backoff_base: 5h }", "f").error(),
            "f: delivery.backoff_cap is 4h; it must be from 5h to 720h");
  EXPECT_EQ(load_serve_options("circuit_breaker: { open_base: 5m, open_cap: 1m }", "f").error(),
            "f: circuit_breaker.open_cap is 1m; it must be from 5m to 720h");
}

TEST(ServeOptions, AnEgressProxyIsAPlainUrlWithoutCredentials) {
  const auto options = load_serve_options("egress: { proxy: 'http://10.0.0.5:3128' }", "f");
  ASSERT_TRUE(options) << options.error();
  ASSERT_TRUE(dispatcher_options(*options).proxy);
  EXPECT_EQ(dispatcher_options(*options).proxy->host, "10.0.0.5");
  EXPECT_EQ(dispatcher_options(*options).proxy->port, 3128);
  EXPECT_FALSE(load_serve_options("egress: { proxy: 'https://10.0.0.5:3128' }", "f"));
  EXPECT_FALSE(load_serve_options("egress: { proxy: 'http://u:p@10.0.0.5:3128' }", "f"));
  EXPECT_FALSE(load_serve_options("egress: { proxy_credentials_file: x }", "f"));
}

TEST(ServeOptions, TracingIsASectionThatIsOffByDefault) {
  EXPECT_FALSE(load_serve_options("delivery: { timeout: 1s }", "f")->tracing);
  const auto options = load_serve_options("tracing: { service_name: hooks, sampling: 5% }", "f");
  ASSERT_TRUE(options) << options.error();
  ASSERT_TRUE(options->tracing);
  EXPECT_EQ(options->tracing->service_name, "hooks");
  EXPECT_EQ(options->tracing->tracer.sampling, Percent(5));
  EXPECT_EQ(load_serve_options("tracing: { sampling: 101% }", "f").error(),
            "f:1:22: sampling must be a percentage from 0 to 100 with at most two decimals, not "
            "\"101%\"");
}

TEST(ServeOptions, AProgramsTracingIsCheckedAsThatOfAFile) {
  ServeOptions options;
  options.tracing.emplace();
  EXPECT_FALSE(find_error(options));
  options.tracing->collector = "collector:4318";
  EXPECT_TRUE(find_error(options)->starts_with("tracing.collector must be a URL"))
      << *find_error(options);
}

TEST(ServeOptions, AProxysCredentialsAreOneLine) {
  const TestFolder folder;
  const std::string file = folder.file("credentials");
  const auto read = [&](const std::string& text) {
    std::ofstream(file) << text;
    const auto found = read_proxy_credentials(file);
    return found ? *found : "error";
  };
  EXPECT_EQ(read("user:pass\n"), "user:pass");
  EXPECT_EQ(read("user:pass\nX-A: b\n"), "error");
  EXPECT_EQ(read(""), "error");
  EXPECT_EQ(read("user"), "error");
  EXPECT_FALSE(read_proxy_credentials(folder.file("none")));
}

}  // namespace
}  // namespace damper::webhooks
