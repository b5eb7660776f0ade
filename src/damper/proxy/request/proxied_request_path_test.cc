#include "damper/proxy/request/proxied_request_testing.h"

// The path of a request, by the listener's rules; and what a route believes of it.
namespace damper::proxy {
namespace {

using Visit = Backend::Visit;

TEST(ProxiedRequestPath, TheNormalPathIsMatchedAndForwarded) {
  for (const bool normalize : {true, false}) {
    Stage stage;
    stage.paths.normalize = normalize;
    stage.route.match.path = "/login";
    Backend& backend = stage.add([](Visit& visit) { visit.respond(200); });
    stage.begin();
    EXPECT_EQ(stage.get("/x/..//%6cogin?q=//")->status, normalize ? 200 : 404);
    EXPECT_EQ(stage.record().target, normalize ? "/login?q=//" : "/x/..//%6cogin?q=//");
    EXPECT_EQ(stage.get("/login")->status, 200);
    EXPECT_EQ(backend.requests(), normalize ? 2u : 1u);
  }
}

TEST(ProxiedRequestPath, ARefusedPathIsRecordedAsItCame) {
  Stage stage;
  stage.paths = {.normalize = true, .escaped_slashes = EscapedSlashes::refuse};
  Backend& backend = stage.add([](Visit& visit) { visit.respond(200); });
  stage.begin();
  EXPECT_EQ(stage.get("//a%2fb")->status, 400);
  EXPECT_EQ(stage.record().target, "//a%2fb");
  EXPECT_EQ(backend.requests(), 0u);
}

TEST(ProxiedRequestPath, NoPathClimbsOutOfARewrittenPrefix) {
  Stage stage;
  stage.route.match.prefix = "/public";
  stage.route.prefix_rewrite = "/files";
  Backend& backend = stage.add([](Visit& visit) { visit.respond(200); });
  stage.begin();
  EXPECT_EQ(stage.get("/public/../secret")->status, 400);
  EXPECT_EQ(stage.get("/public/%2E%2e/secret")->status, 400);
  EXPECT_EQ(backend.requests(), 0u);
  EXPECT_EQ(stage.get("/public/a?x=/../")->status, 200);
  EXPECT_EQ(backend.requests(), 1u);
}

}  // namespace
}  // namespace damper::proxy
