#include "damper/http/idempotency/idempotency_store.h"

#include <gtest/gtest.h>

namespace damper::http {
namespace {

Request request(std::string method, std::string authority, std::string target, std::string body) {
  Request made;
  made.method = std::move(method);
  made.authority = std::move(authority);
  made.target = std::move(target);
  made.body = std::move(body);
  return made;
}

TEST(IdempotencyFingerprint, DiffersWhenAnyPartDoes) {
  const Fingerprint one = fingerprint(request("POST", "shop", "/orders", "1"));
  EXPECT_EQ(one, fingerprint(request("POST", "shop", "/orders", "1")));
  EXPECT_NE(one, fingerprint(request("PATCH", "shop", "/orders", "1")));
  EXPECT_NE(one, fingerprint(request("POST", "store", "/orders", "1")));
  EXPECT_NE(one, fingerprint(request("POST", "shop", "/order", "1")));
  EXPECT_NE(one, fingerprint(request("POST", "shop", "/orders", "2")));
  EXPECT_NE(one, fingerprint(request("POST", "shop", "/order", "s1")));  // The same bytes in a row.
}

TEST(IdempotencyFingerprint, OtherFieldsAreNoPartOfIt) {
  Request second = request("POST", "shop", "/orders", "1");
  const Fingerprint one = fingerprint(second);
  second.fields.add("damper-attempt", "2");
  EXPECT_EQ(one, fingerprint(second));
}

}  // namespace
}  // namespace damper::http
