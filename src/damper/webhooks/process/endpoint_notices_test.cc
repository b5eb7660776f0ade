#include "damper/webhooks/process/endpoint_notices.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace damper::webhooks {
namespace {

using Kind = DeliveryEvent::Kind;

class Notices : public testing::Test {
 protected:
  void add(std::int64_t id, std::vector<std::string> types, bool disabled = false,
           const std::string& application = "shop") {
    Endpoint endpoint{.id = Id{id}, .application = application, .config = {}};
    endpoint.config.types = std::move(types);
    endpoint.config.disabled = disabled;
    directory_.put(endpoint);
  }
  // "TYPE: endpoints"
  std::string on(Kind kind, std::int64_t id) {
    const auto notice =
        notices_.on_event({.kind = kind, .endpoint = Id{id}, .text = "a \"reason\""},
                          UnixTime(std::chrono::seconds(5)));
    if (!notice) return "none";
    std::string text = notice->message.type + ":";
    for (const Id endpoint : notice->endpoints) text += " " + std::to_string(number(endpoint));
    payload_ = notice->message.payload;
    return text;
  }

  Directory directory_;
  EndpointNotices notices_{directory_};
  std::string payload_;
};

TEST_F(Notices, AreForThoseWhoSubscribeByName) {
  add(1, {"invoice.*"});
  add(2, {});
  add(3, {"*"});
  add(4, {"damper.*"});
  add(5, {"damper.endpoint.failing", "a"});
  add(6, {"damper.*"}, true);
  add(7, {"damper.*"}, false, "other");
  EXPECT_EQ(on(Kind::endpoint_failing, 1), "damper.endpoint.failing: 4 5");
  EXPECT_EQ(payload_,
            R"({"type":"damper.endpoint.failing","timestamp":"1970-01-01T00:00:05.000Z","data":)"
            R"({"endpoint":")" +
                id_text(kEndpointPrefix, Id{1}) +
                R"(","description":"","reason":"a \"reason\""}})");
  EXPECT_EQ(on(Kind::endpoint_recovered, 1), "damper.endpoint.recovered: 4");
  EXPECT_EQ(on(Kind::endpoint_disabled, 2), "damper.endpoint.disabled: 4");
  EXPECT_EQ(on(Kind::dead, 1), "none");
}

TEST_F(Notices, TheFailureOfANoticeMakesNone) {
  add(1, {"damper.*"});
  add(2, {"damper.*"});
  EXPECT_EQ(on(Kind::endpoint_failing, 1), "none");
  EXPECT_EQ(on(Kind::endpoint_disabled, 2), "none");
}

TEST_F(Notices, FailingIsToldOnce) {
  add(1, {});
  add(2, {"damper.*"});
  EXPECT_EQ(on(Kind::endpoint_failing, 1), "damper.endpoint.failing: 2");
  EXPECT_EQ(on(Kind::endpoint_failing, 1), "none") << "a failed probe is no news";
  EXPECT_EQ(on(Kind::endpoint_recovered, 1), "damper.endpoint.recovered: 2");
  EXPECT_EQ(on(Kind::endpoint_failing, 1), "damper.endpoint.failing: 2");
}

}  // namespace
}  // namespace damper::webhooks
