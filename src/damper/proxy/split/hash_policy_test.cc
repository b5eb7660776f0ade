#include "damper/proxy/split/hash_policy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace damper::proxy {
namespace {

using Fields = std::vector<http::Field>;

std::string cookie(const Fields& fields, std::string_view name = "id") {
  return std::string(find_cookie(fields, name).value_or("-"));
}

TEST(HashPolicy, ACookieIsFoundByItsWholeName) {
  EXPECT_EQ(cookie({{"Cookie", "id=7"}}), "7");
  EXPECT_EQ(cookie({{"cookie", "a=1; id=7; b=2"}}), "7");
  EXPECT_EQ(cookie({{"cookie", "xid=1;id2=2;  id=7"}}), "7");
  EXPECT_EQ(cookie({{"cookie", "a=1"}, {"x", "id=1"}, {"cookie", "id=7"}}), "7");
  EXPECT_EQ(cookie({{"cookie", "id=\"7\""}}), "7");
  EXPECT_EQ(cookie({{"cookie", "id=a=b"}}), "a=b");
  EXPECT_EQ(cookie({{"cookie", "id=7; id=8"}}), "7");
  EXPECT_EQ(cookie({{"cookie", "ID=7"}}), "-");  // Names of cookies are case-sensitive.
}

TEST(HashPolicy, HostileCookiesAreNoKey) {
  for (const char* const text : {"", ";", ";;;=", "=7", "id", "id=", "id=\"\"", " id = 7", "id;=7",
                                 "\"id=7", "a=\"; id", "id =7"}) {
    EXPECT_EQ(cookie({{"cookie", text}}), "-") << text;
  }
  EXPECT_EQ(cookie({{"cookie", "id=\""}}), "\"");
  EXPECT_EQ(cookie({{"cookie", std::string_view("a\0; id=7", 8)}}), "7");
}

TEST(HashPolicy, AKeyIsTheTextOfItsSource) {
  const Fields fields = {{"X-User", "ann"}, {"x-user", "bob"}, {"cookie", "id=7"}, {"x-empty", ""}};
  const auto text = [&](const HashPolicy& policy) {
    return std::string(find_key_text(policy, fields, "10.0.0.1").value_or("-"));
  };
  EXPECT_EQ(text({.header = "x-user"}), "ann");
  EXPECT_EQ(text({.header = "x-other"}), "-");
  EXPECT_EQ(text({.header = "x-empty"}), "-");
  EXPECT_EQ(text({.cookie = "id"}), "7");
  EXPECT_EQ(text({.cookie = "other"}), "-");
  EXPECT_EQ(text({.client_address = true}), "10.0.0.1");
}

TEST(HashPolicy, AMadeCookieIsScriptlessAndHasItsAge) {
  const CookieValue value = cookie_value(0x0123456789abcdef);
  const std::string_view text(value.data(), value.size());
  EXPECT_EQ(text, "0123456789abcdef");
  std::string into = "old";
  write_set_cookie({.cookie = "id", .ttl = std::chrono::hours(1), .path = "/shop"}, text, false,
                   into);
  EXPECT_EQ(into, "id=0123456789abcdef; Max-Age=3600; Path=/shop; HttpOnly");
  write_set_cookie({.cookie = "id", .ttl = std::chrono::milliseconds(1)}, text, false, into);
  EXPECT_EQ(into, "id=0123456789abcdef; Max-Age=1; Path=/; HttpOnly");
  write_set_cookie({.cookie = "id", .ttl = Duration{0}}, text, false, into);
  EXPECT_EQ(into, "id=0123456789abcdef; Path=/; HttpOnly");
  write_set_cookie({.cookie = "id", .ttl = Duration{0}}, text, true, into);
  EXPECT_EQ(into, "id=0123456789abcdef; Path=/; HttpOnly; Secure");
}

TEST(HashPolicy, APolicyHasOneSource) {
  const auto error = [](const HashPolicy& policy) {
    const auto wrong = find_error(policy);
    return wrong ? std::string(wrong->key) + ": " + wrong->sentence : "ok";
  };
  const std::string one = "hash_policy must have exactly one of header, cookie and client_address";
  EXPECT_EQ(error({.header = "x"}), "ok");
  EXPECT_EQ(error({.cookie = "x", .ttl = Duration{0}, .path = "/a"}), "ok");
  EXPECT_EQ(error({.client_address = true}), "ok");
  EXPECT_EQ(error({}), "hash_policy.header: " + one);
  EXPECT_EQ(error({.header = "x", .cookie = "y"}), "hash_policy.cookie: " + one);
  EXPECT_EQ(error({.header = "x", .client_address = true}), "hash_policy.client_address: " + one);
  EXPECT_EQ(error({.header = "x", .ttl = Duration{0}}),
            "hash_policy.ttl: hash_policy has a ttl but no cookie");
  EXPECT_EQ(
      error({.cookie = "x", .path = "/a"}),
      "hash_policy.path: hash_policy has a path but no cookie with a ttl, which would be made");
}

}  // namespace
}  // namespace damper::proxy
