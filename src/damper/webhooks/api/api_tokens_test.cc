#include "damper/webhooks/api/api_tokens.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/http/server/token_testing.h"

namespace damper::webhooks {
namespace {

TEST(ApiTokens, ALineIsATokenAnApplicationAndItsScopes) {
  const auto tokens = ApiTokens::parse(
      "# clients\n\n  0123456789abcdef\tacme  send,read \r\nfedcba9876543210 * manage");
  ASSERT_TRUE(tokens) << tokens.error();
  EXPECT_EQ(tokens->size(), 2U);
  const ApiTokens::Grant* const acme = tokens->find("0123456789abcdef");
  ASSERT_NE(acme, nullptr);
  EXPECT_TRUE(acme->is_for("acme") && !acme->is_for("other") && !acme->is_for_all());
  EXPECT_TRUE(acme->has(ApiScope::send) && acme->has(ApiScope::read));
  EXPECT_FALSE(acme->has(ApiScope::manage));
  EXPECT_TRUE(tokens->find("fedcba9876543210")->is_for("other"));
  for (const char* const wrong : {"", "0123456789abcde", "0123456789abcdef0", "acme", "#"}) {
    EXPECT_EQ(tokens->find(wrong), nullptr) << wrong;
  }
}

TEST(ApiTokens, AnErrorNamesTheLineAndNeverTheToken) {  // (2)
  const auto error = [](const std::string& text) {
    const auto tokens = ApiTokens::parse(text);
    return tokens ? "none" : tokens.error();
  };
  EXPECT_EQ(error("0123456789abcdef acme"), "line 1 is not TOKEN APPLICATION SCOPES");
  EXPECT_EQ(error("0123456789abcdef acme read more"), "line 1 is not TOKEN APPLICATION SCOPES");
  EXPECT_NE(error("\nshort acme read").find("line 2"), std::string::npos);
  EXPECT_EQ(error("short-secret acme read").find("short-secret"), std::string::npos);
  EXPECT_NE(error("0123456789abcdef A read").find("neither a name nor *"), std::string::npos);
  EXPECT_NE(error("0123456789abcdef a reed").find("\"reed\""), std::string::npos);
  EXPECT_NE(error("0123456789abcdef a read\n0123456789abcdef b read").find("repeats"),
            std::string::npos);
  EXPECT_EQ(error("# nothing\n"), "it has no token");
}

TEST(ApiTokens, AreReadFromAFile) {
  const http::TokenFile file("0123456789abcdef * read\n");
  EXPECT_TRUE(ApiTokens::read(file.path()));
  EXPECT_FALSE(ApiTokens::read("/nonexistent/tokens"));
  EXPECT_FALSE(ApiTokens::read("/"));
}

}  // namespace
}  // namespace damper::webhooks
