#include "damper/policy/file/schema.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace damper::policy {
namespace {

const Key& key_at(std::string_view path) { return keys()[*find_key(path)]; }

std::string read_text(std::string_view path, std::string_view text) {
  const auto tree = config::parse_yaml(text, "p.yaml");
  EXPECT_TRUE(tree);
  const auto raw = read(key_at(path), *tree);
  return raw ? std::to_string(*raw) : "error";
}

TEST(Schema, PathsAreUniqueAndEachStandsInASection) {
  std::set<std::string_view> paths;
  for (const Key& key : keys()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_TRUE(parent(key.path).empty() || find_section(parent(key.path))) << key.path;
    EXPECT_TRUE(key.not_under.empty() || parent(key.not_under) == parent(key.path)) << key.path;
    EXPECT_LE(key.low, key.high) << key.path;
  }
  for (const Section& section : sections()) EXPECT_TRUE(paths.insert(section.path).second);
  for (const Moved& path : moved()) {
    EXPECT_TRUE(paths.insert(path.from).second) << path.from;
    EXPECT_TRUE(find_key(path.to) || find_section(path.to)) << path.to;
  }
}

// The reference is made of these lines.
TEST(Schema, EveryKeyAndSectionIsDocumentedInASentence) {
  for (const Key& key : keys()) EXPECT_TRUE(key.doc.ends_with('.')) << key.path;
  for (const Section& section : sections()) EXPECT_TRUE(section.doc.ends_with('.')) << section.path;
}

TEST(Schema, EveryDefaultIsWithinItsBounds) {
  Settings settings;
  for (const Section& section : sections()) {
    if (section.turn != nullptr) section.turn(settings, true);
  }
  for (const Key& key : keys()) {
    if (!key.has_raw()) continue;
    const std::int64_t raw = key.get(settings);
    EXPECT_TRUE(raw == key.off || (raw >= key.low && raw <= key.high)) << key.path;
  }
}

std::string read_as(Kind kind, std::string_view text, std::int64_t high) {
  const Key key{.path = "k", .kind = kind, .low = 0, .high = high, .doc = ""};
  const auto tree = config::parse_yaml(text, "p.yaml");
  EXPECT_TRUE(tree);
  const auto raw = read(key, *tree);
  return raw ? std::to_string(*raw) + " " + write_raw(key, *raw) : raw.error();
}

TEST(Schema, ANumberOfBytesMayHaveAUnit) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  EXPECT_EQ(read_as(Kind::bytes, "4097", kMost), "4097 4097");
  EXPECT_EQ(read_as(Kind::bytes, "64KiB", kMost), "65536 64KiB");
  EXPECT_EQ(read_as(Kind::bytes, "1 MiB", kMost), "1048576 1MiB");
  EXPECT_EQ(read_as(Kind::bytes, "1024GiB", kMost), "1099511627776 1024GiB");
  EXPECT_EQ(read_as(Kind::bytes, "0", kMost), "0 0");
  EXPECT_EQ(read_as(Kind::bytes, "2KiB", 1024),
            "k must be a number of bytes from 0 to 1KiB, such as 4096, 64KiB or 1MiB, not "
            "\"2KiB\"");
  for (const std::string_view wrong : {"64KB", "64k", "-1", "1.5MiB", "KiB", "1025GiB", "''",
                                       "99999999999999999999", "1  MiB", "[1]"}) {
    EXPECT_NE(read_as(Kind::bytes, wrong, kMost).find("must be"), std::string::npos) << wrong;
  }
}

TEST(Schema, ARateIsExactToAThousandth) {
  constexpr std::int64_t kMost = 1'000'000'000;
  EXPECT_EQ(read_as(Kind::rate, "100", kMost), "100000 100");
  EXPECT_EQ(read_as(Kind::rate, "0.5", kMost), "500 0.5");
  EXPECT_EQ(read_as(Kind::rate, "12.250", kMost), "12250 12.25");
  EXPECT_EQ(read_as(Kind::rate, "0.0010", kMost), "1 0.001");
  EXPECT_EQ(read_as(Kind::rate, "0.0001", kMost),
            "k must be a number from 0 to 1000000, with at most three decimals, not \"0.0001\"");
  for (const std::string_view wrong : {"-1", "1.", ".5", "1e3", "1.-5", "9999999999999", "''"}) {
    EXPECT_NE(read_as(Kind::rate, wrong, kMost).find("must be"), std::string::npos) << wrong;
  }
}

TEST(Schema, APercentageIsExact) {
  constexpr std::string_view kPath = "retry_budget.budget_percent";
  EXPECT_EQ(read_text(kPath, "10"), "1000");
  EXPECT_EQ(read_text(kPath, "10.5"), "1050");
  EXPECT_EQ(read_text(kPath, "0.25"), "25");
  EXPECT_EQ(read_text(kPath, "0.07"), "7");
  EXPECT_EQ(read_text(kPath, "10%"), "1000");
  EXPECT_EQ(read_text(kPath, "'10 %'"), "1000");
  EXPECT_EQ(read_text(kPath, "{value: 20.0}"), "2000");
  EXPECT_EQ(read_text(kPath, "20.000"), "2000");
  EXPECT_EQ(read_text(kPath, "1000"), "100000");
  for (const char* wrong : {"0.125",
                            "1000.01",
                            "-1",
                            "-0.5",
                            "+1",
                            "1e2",
                            "",
                            "%",
                            ".",
                            ".5",
                            "5.",
                            "1.2.3",
                            "0x10",
                            "99999999999999999999",
                            "1.-5",
                            "{value: [1]}",
                            "{value: 1, more: 2}",
                            "{percent: 1}",
                            "[1]",
                            "~"}) {
    EXPECT_EQ(read_text(kPath, wrong), "error") << wrong;
  }
}

TEST(Schema, AChanceIsAFractionInEnvoysForm) {
  constexpr std::string_view kPath = "hedge_policy.additional_request_chance";
  EXPECT_EQ(read_text(kPath, "{numerator: 5}"), "500");
  EXPECT_EQ(read_text(kPath, "{numerator: 5, denominator: HUNDRED}"), "500");
  EXPECT_EQ(read_text(kPath, "{numerator: 5, denominator: TEN_THOUSAND}"), "5");
  EXPECT_EQ(read_text(kPath, "{denominator: MILLION, numerator: 500}"), "5");
  EXPECT_EQ(read_text(kPath, "{numerator: 1000000, denominator: MILLION}"), "10000");
  EXPECT_EQ(read_text(kPath, "5%"), "500");
  for (const char* wrong :
       {"{numerator: 550, denominator: MILLION}", "{numerator: 101}", "{numerator: -1}",
        "{denominator: HUNDRED}", "{numerator: 5, denominator: THOUSAND}", "{numerator: 5, x: 1}",
        "{numerator: 9223372036854775807}", "{numerator: -9223372036854775807}", "{}", "~", "[5]",
        "101"}) {
    EXPECT_EQ(read_text(kPath, wrong), "error") << wrong;
  }
}

TEST(Schema, BothBoundsAreAccepted) {
  EXPECT_EQ(read_text("retry_policy.num_retries", "0"), "0");
  EXPECT_EQ(read_text("retry_policy.num_retries", "99"), "99");
  for (const char* wrong : {"-1", "100", "1.0", "1s", "", "0x1", "99999999999999999999", "1 2"}) {
    EXPECT_EQ(read_text("retry_policy.num_retries", wrong), "error") << wrong;
  }
  EXPECT_EQ(read_text("timeout", "1ns"), "1");
  EXPECT_EQ(read_text("timeout", "720h"), "2592000000000000");
  EXPECT_EQ(read_text("timeout", "0s"), "error");
  EXPECT_EQ(read_text("timeout", "721h"), "error");
  EXPECT_EQ(read_text("timeout", "2"), "error");
  EXPECT_EQ(read_text("retry_budget.window", "999ms"), "error");
  EXPECT_EQ(read_text("retry_budget.window", "1s"), "1000000000");
}

TEST(Schema, OffIsAcceptedWhereItMeansSomething) {
  EXPECT_EQ(read_text("retry_budget.min_retry_concurrency", "off"), "-1");
  EXPECT_EQ(read_text("circuit_breaker.ramp", "off"), "0");
  EXPECT_EQ(read_text("circuit_breaker.ramp", "0s"), "0");
  EXPECT_EQ(read_text("timeout", "off"), "error");
}

TEST(Schema, TokensAreAListInEitherForm) {
  constexpr std::string_view kPath = "retry_policy.retry_on";
  EXPECT_EQ(read_text(kPath, "default"), "1");
  EXPECT_EQ(read_text(kPath, "'5xx, reset'"), "10");
  EXPECT_EQ(read_text(kPath, "[5xx, reset]"), "10");
  EXPECT_EQ(read_text(kPath, "reset,reset,"), "8");
  EXPECT_EQ(read_text(kPath, "[]"), "0");
  for (const char* wrong : {"~", "{}", "[[reset]]", "5xx reset", "RESET"}) {
    EXPECT_EQ(read_text(kPath, wrong), "error") << wrong;
  }
}

TEST(Schema, APathHasAParentAndALeaf) {
  EXPECT_EQ(parent("a.b.c"), "a.b");
  EXPECT_EQ(leaf("a.b.c"), "c");
  EXPECT_EQ(parent("a"), "");
  EXPECT_EQ(leaf("a"), "a");
}

}  // namespace
}  // namespace damper::policy
