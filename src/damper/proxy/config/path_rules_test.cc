#include "damper/proxy/config/path_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "damper/base/random.h"

namespace damper::proxy {
namespace {

constexpr PathRules kNormal{.normalize = true};
constexpr PathRules kStrict{.normalize = true, .escaped_slashes = EscapedSlashes::refuse};

// "refused": no path.
std::string applied(const PathRules& rules, std::string_view target) {
  std::string into;
  return rules.try_apply(target, into) ? std::string(target) : "refused";
}

TEST(PathRules, WithoutRulesEveryTargetIsAsItWas) {
  for (const std::string_view target : {"//a/../b", "/%6c", "/%zz", "/a%2fb", "/a\\b", "*"}) {
    EXPECT_EQ(applied({}, target), target);
  }
}

TEST(PathRules, ThePathOfOneServiceIsWrittenInOneWay) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {"/login", "/login"},
      {"//login", "/login"},
      {"/./login", "/login"},
      {"/%6cogin", "/login"},
      {"/%6Cogin", "/login"},
      {"/x/../login", "/login"},
      {"/x/%2e%2E/login", "/login"},
      {"/x/.%2e/login", "/login"},
      {"/login;a=b", "/login;a=b"},
      {"/a/b/c/./../../g", "/a/g"},  // RFC 3986, 5.2.4
      {"/", "/"},
      {"//", "/"},
      {"/.", "/"},
      {"/..", "/"},
      {"/../../a", "/a"},
      {"/a/..", "/"},
      {"/a/b/..", "/a/"},
      {"/a/.", "/a/"},
      {"/a//", "/a/"},
      {"/a//../b", "/b"},
      {"/.a/..b/...", "/.a/..b/..."},
      {"/..;/a", "/..;/a"},
      {"//evil.example/x", "/evil.example/x"},
      {"/.//evil.example", "/evil.example"},
      {"/%2e//evil.example", "/evil.example"},
      {"/%7euser/%41%2d%5F", "/~user/A-_"},
      {"/a%2fb%3a", "/a%2Fb%3A"},
      {"/%252e%252e/a", "/%252e%252e/a"},  // Decoded once.
      {"/a%00b", "/a%00b"},
      {"/a\\..\\b", "/a\\..\\b"},
  };
  for (const auto& [target, normal] : cases) EXPECT_EQ(applied(kNormal, target), normal) << target;
}

TEST(PathRules, TheQueryIsUnchanged) {
  EXPECT_EQ(applied(kNormal, "/a?x=%6c//../%"), "/a?x=%6c//../%");
  EXPECT_EQ(applied(kNormal, "//a/.?x=/%6c//../%2f"), "/a/?x=/%6c//../%2f");
  EXPECT_EQ(applied(kStrict, "/a?x=%2f\\"), "/a?x=%2f\\");
  EXPECT_EQ(applied(kNormal, "/..?"), "/?");
}

TEST(PathRules, WhatIsNoPathIsUnchanged) {
  EXPECT_EQ(applied(kStrict, "*"), "*");
  EXPECT_EQ(applied(kStrict, "host%2f:443"), "host%2f:443");
  EXPECT_EQ(applied(kStrict, ""), "");
}

// Else /%%36%31 would become /%61, which is /a.
TEST(PathRules, AnIncompleteEscapeIsRefused) {
  for (const std::string_view target :
       {"/%", "/%6", "/%6/", "/%zz", "/%%36%31", "/a%-1", "/%6?1"}) {
    EXPECT_EQ(applied(kNormal, target), "refused") << target;
  }
}

TEST(PathRules, EscapedSlashesAreKeptOrRefused) {
  constexpr PathRules kOnlyRefuse{.escaped_slashes = EscapedSlashes::refuse};
  for (const std::string_view target : {"/a%2fb", "/a%2Fb", "/a%5c", "/a%5Cb", "/a\\b"}) {
    EXPECT_EQ(applied(kStrict, target), "refused") << target;
    EXPECT_EQ(applied(kOnlyRefuse, target), "refused") << target;
    EXPECT_NE(applied(kNormal, target), "refused") << target;
  }
  EXPECT_EQ(applied(kOnlyRefuse, "//a/%6c/../%"), "//a/%6c/../%");
  EXPECT_EQ(applied(kStrict, "/a%252f"), "/a%252f");
}

TEST(PathRules, ANormalPathIsNotCopied) {
  std::string into = "unused";
  for (const std::string_view path : {"/", "/a/b", "/a/b/?x=//", "/a%2Fb/..c/.d", "/a;b=c"}) {
    std::string_view target = path;
    ASSERT_TRUE(kNormal.try_apply(target, into));
    EXPECT_EQ(target.data(), path.data());
  }
  EXPECT_EQ(into, "unused");
}

// Invariants (1) to (3).
TEST(PathRules, ANormalPathStaysNormal) {
  constexpr std::string_view kParts[] = {"/",   "/",   ".",   "..", "a",   "%2e", "%2E", "%2f",
                                         "%5c", "%25", "%6c", "%",  "%41", ";",   "\\",  "?"};
  Random random(1);
  std::string into;
  std::string again;
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = "/";
    for (auto parts = random.bits() % 12; parts > 0; --parts) text += kParts[random.bits() % 16];
    std::string_view once = text;
    if (!kNormal.try_apply(once, into)) {
      ++refused;
      continue;
    }
    std::string_view twice = once;
    ASSERT_TRUE(kNormal.try_apply(twice, again)) << text;
    ASSERT_EQ(twice, once) << text;
    ASSERT_LE(once.size(), text.size());
    const std::string_view path = once.substr(0, once.find('?'));
    ASSERT_TRUE(path.starts_with('/')) << text;
    ASSERT_EQ(path.find("//"), std::string_view::npos) << text;
    ASSERT_EQ((std::string(path) + '/').find("/../"), std::string_view::npos) << text;
    ASSERT_EQ((std::string(path) + '/').find("/./"), std::string_view::npos) << text;
    ASSERT_EQ(text.find('?') == std::string::npos ? "" : text.substr(text.find('?')),
              once.substr(path.size()));
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 15'000);
}

TEST(PathRules, AParentSegmentIsFoundHoweverItIsWritten) {
  for (const std::string_view path :
       {"/..", "/a/../b", "/a/..", "/%2e%2e/b", "/a/.%2E", "/a/..;x/b", "/a/..;", "/a\\..\\b",
        "/a/..%2fb", "/a%5c..", "/a/%2e%2e%2f", "/a;x/.."}) {
    EXPECT_TRUE(has_parent_segment(path)) << path;
  }
  for (const std::string_view path :
       {"/", "/a/./b", "/...", "/a..", "/..a/b", "/a;..", "/a/%2e%2e%2e", "/a;/x..;",
        "/%252e%252e/", "/a.b./.c", "/a;..;/b"}) {
    EXPECT_FALSE(has_parent_segment(path)) << path;
  }
}

}  // namespace
}  // namespace damper::proxy
