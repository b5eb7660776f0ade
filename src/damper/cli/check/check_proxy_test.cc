#include "damper/cli/check/check_proxy.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::cli {
namespace {

constexpr const char* kFile =
    "listeners:\n"
    "  web: { LISTENER }\n"
    "clusters: { shop: { endpoints: [http://10.0.0.1:9000] } }\n"
    "routes:\n"
    "  login: { match: { path: /login }, ROUTE }\n"
    "  rest: { cluster: shop }\n";

// "RULE@LINE:COLUMN; ..." of a file with such a listener and such a first route.
std::string rules_of(const std::string& listener, const std::string& route = "cluster: shop") {
  std::string text = kFile;
  text.replace(text.find("LISTENER"), 8, listener);
  text.replace(text.find("ROUTE"), 5, route);
  const auto tree = config::parse_yaml(text, "damper.yaml");
  const auto config = proxy::load_proxy(text, "damper.yaml");
  EXPECT_TRUE(tree && config) << (config ? "" : to_string(config.error()));
  std::string found;
  if (!tree || !config) return found;
  for (const policy::Finding& finding : lint_proxy(*config, *tree)) {
    found += std::string(name(finding.rule)) + '@' + std::to_string(finding.place.line) + ':' +
             std::to_string(finding.place.column) + "; ";
    EXPECT_FALSE(finding.why.empty() || finding.fix.empty());
  }
  return found;
}

constexpr const char* kBounded = "max_connections_per_client: 100";
constexpr const char* kLimited = "cluster: shop, rate_limit: { requests_per_second: 1 }";

TEST(CheckProxy, AFileForThisMachineAloneHasNoFindings) {
  EXPECT_EQ(rules_of("address: ':8080', trust: all", kLimited), "");
  EXPECT_EQ(rules_of("address: unix:/run/damper.sock, trust: all", kLimited), "");
}

TEST(CheckProxy, TrustInEverybodyIsFoundWhereOthersCanConnect) {
  const std::string open = std::string("address: 0.0.0.0:8080, ") + kBounded;
  EXPECT_EQ(rules_of(open), "");
  EXPECT_EQ(rules_of(open + ", trust: [10.0.0.0/8]"), "");
  EXPECT_EQ(rules_of(open + ", trust: all"), "strangers-trusted@2:73; ");
  EXPECT_EQ(rules_of(open + ", proxy_protocol: all"), "strangers-trusted@2:82; ");
}

TEST(CheckProxy, AListenerWithoutABoundByClientIsNoted) {
  EXPECT_EQ(rules_of("address: 0.0.0.0:8080"), "no-client-limit@2:8; ");
  // Its peers are load balancers.
  EXPECT_EQ(rules_of("address: 0.0.0.0:8080, proxy_protocol: [10.0.0.0/8]"), "");
}

TEST(CheckProxy, ALimitThatAnotherSpellingOfThePathPassesByIsFound) {
  const std::string open = std::string("address: 0.0.0.0:8080, ") + kBounded;
  EXPECT_EQ(rules_of(open), "");
  EXPECT_EQ(rules_of(open, kLimited), "limit-bypassed@5:19; ");
  EXPECT_EQ(rules_of(open, "cluster: shop, client_rate_limit: { requests_per_second: 1 }"),
            "limit-bypassed@5:19; ");
  EXPECT_EQ(rules_of(open, "cluster: shop, admission_control: on"), "limit-bypassed@5:19; ");
  EXPECT_EQ(rules_of(open + ", normalize_path: true", kLimited), "");
}

}  // namespace
}  // namespace damper::cli
