#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "damper/webhooks/api/api_server_testing.h"

namespace damper::webhooks {
namespace {

const std::string kShop = "/v1/applications/default";

TEST(ApiOperation, SwitchesOfAnApplicationAndOfAnEndpoint) {
  ApiServer api;
  const std::string endpoint = api.add_endpoint();
  const std::string order = R"({"off":true,"reason":"INC-7"})";
  const std::string one = kShop + "/endpoints/" + endpoint;
  EXPECT_EQ(api.ask("PUT", one + "/switches/deliveries", order).status, 200);
  EXPECT_EQ(api.ask("PUT", kShop + "/switches/retries", order).status, 200);
  EXPECT_EQ(api.ask("PUT", kShop + "/endpoints/ep_0000000000001/switches/retries", order).status,
            404);
  const auto items = [&](const std::string& target) {
    std::string text;
    const auto answer = api.get(target).json();
    for (const auto& item : answer.find("data")->items) {
      if (!item.find("off")->boolean) continue;
      text += item.find("name")->text + "," + item.find("application")->text + "," +
              (item.find("endpoint")->text.empty() ? "" : "one") + " ";
    }
    return text;
  };
  EXPECT_EQ(items("/v1/switches"), "deliveries,default,one retries,default, ");
  EXPECT_EQ(items(kShop + "/switches"), "retries,default, deliveries,default,one ");
  EXPECT_EQ(items(one + "/switches"), "deliveries,default,one ");
  EXPECT_EQ(api.ask("DELETE", one).status, 204);
  EXPECT_EQ(items("/v1/switches"), "retries,default, ") << "what is removed is not held";
  EXPECT_EQ(api.ask("PUT", kShop + "/switches/retries", R"({"off":false})").status, 200);
  EXPECT_EQ(items("/v1/switches"), "");
  const std::string name = "hold.retries.application.default";
  api.store.edit([&](const MemoryStore& rows) {
    ASSERT_EQ(rows.settings.size(), 1U) << "that of the removed endpoint is removed";
    EXPECT_EQ(rows.settings.begin()->first, name);
    EXPECT_NE(rows.settings.at(name).find("\"until\""), std::string::npos) << "when it has ended";
  });
  EXPECT_EQ(api.ask("PUT", kShop + "/switches/retries", R"({"off":false})").status, 200);
  api.store.edit([](const MemoryStore& rows) {
    EXPECT_EQ(rows.settings.size(), 1U) << "also if no hold was known: another may have set it";
  });
}

TEST(ApiOperation, ASwitchActsWhileTheStoreFails) {
  ApiServer api;
  api.store.fail(StoreError{StoreError::Kind::unavailable, "the disk is full"});
  const auto off = api.ask("PUT", "/v1/switches/deliveries", R"({"off":true,"reason":"disk"})");
  EXPECT_EQ(off.status, 503);
  EXPECT_TRUE(off["error"].starts_with("the switch is set, but only until a restart: the store"))
      << off.body;
  api.server->run([&] { EXPECT_TRUE(api.deliveries.holding({}, Hold::deliveries).off); });
}

TEST(ApiOperation, ARedriveOfAnApplicationHasProgress) {
  ApiServer api;
  const std::string first = api.add_endpoint();
  const std::string second = api.add_endpoint();
  api.store.edit([&](MemoryStore& rows) {
    rows.most_redriven = 2;
    for (std::int64_t i = 0; i < 5; ++i) {
      rows.dead.push_back({.endpoint = *parse_id(kEndpointPrefix, i < 3 ? first : second),
                           .message = Id{i},
                           .time = kApiNow,
                           .reason = i == 4 ? "pushed_back" : "attempts_spent"});
    }
  });
  const auto ask = [&](const char* body) { return api.ask("POST", kShop + "/redrives", body); };
  const auto dry = ask(R"({"dry_run":true})");
  EXPECT_EQ(dry.status, 202) << dry.body;
  EXPECT_EQ(dry["total"], "5");
  EXPECT_EQ(dry["state"], "dry_run");
  const auto finished = [&](const std::string& id) {
    std::string state = "running";
    for (int i = 0; i < 1000 && state == "running"; ++i) {
      state = api.get(kShop + "/redrives/" + id)["state"];
    }
    return state;
  };
  const auto job = ask(R"({"reason":"attempts_spent","rate":1000})");
  EXPECT_EQ(job["total"], "4");
  EXPECT_EQ(finished(job["id"]), "done");
  EXPECT_EQ(api.get(kShop + "/redrives/" + job["id"])["count"], "4");
  api.server->run([&] { EXPECT_EQ(api.deliveries.due.size(), 3U); });  // for each batch
  api.store.edit([](const MemoryStore& rows) {
    EXPECT_EQ(rows.dead.size(), 1U);
    EXPECT_EQ(rows.last_redrive->rate_per_second, 1000);
  });
  const auto gone = ask(R"({"delete":true})");
  EXPECT_EQ(finished(gone["id"]), "done");
  api.store.edit([](const MemoryStore& rows) {
    EXPECT_TRUE(rows.dead.empty());
    EXPECT_TRUE(rows.last_redrive->discard);
  });
  api.server->run(
      [&] { EXPECT_EQ(api.deliveries.due.size(), 3U) << "what is deleted is not due"; });
  EXPECT_EQ(api.get(kShop + "/redrives").json().find("data")->items.size(), 2U);
  EXPECT_EQ(ask(R"({"endpoint":"ep_0000000000001"})").status, 404);
  EXPECT_EQ(api.get(kShop + "/redrives/rd_0000000000001").status, 404);
  EXPECT_EQ(api.ask("DELETE", kShop + "/redrives/" + job["id"])["state"], "done");
}

TEST(ApiOperation, ARedriveThatTheStoreRefusesHasFailed) {
  ApiServer api;
  api.add_endpoint();
  api.store.fail(StoreError{StoreError::Kind::unavailable, "the disk is full"});
  for (int i = 0; i < 10; ++i) {  // A refusal does not count as running.
    EXPECT_EQ(api.ask("POST", kShop + "/redrives", "{}").status, 503);
  }
}

TEST(ApiOperation, TypesOfTheDispatcherAreItsOwn) {
  ApiServer api;
  const auto sent =
      api.ask("POST", kShop + "/messages", R"({"type":"damper.endpoint.disabled","payload":1})");
  EXPECT_EQ(sent.status, 400) << sent.body;
}

TEST(ApiOperation, RevokedSecretsSignNothing) {
  ApiServer api;
  const std::string one = kShop + "/endpoints/" + api.add_endpoint();
  EXPECT_EQ(api.ask("POST", one + "/secret/rotate", "{}")["others"], "1");
  const std::string newest = api.get(one + "/secret")["secret"];
  const auto revoked = api.ask("POST", one + "/secret/revoke");
  EXPECT_EQ(revoked.status, 200) << revoked.body;
  EXPECT_EQ(revoked["others"], "0");
  EXPECT_EQ(revoked["secret"], newest);
}

TEST(ApiOperation, AFilterAndAScheduleOfAnEndpoint) {
  ApiServer api;
  const auto add = [&](const std::string& fields) {
    return api.ask("POST", kShop + "/endpoints", R"({"url":"https://example.com")" + fields + "}");
  };
  const auto made = add(R"(,"filter":{"data.country":"DE"},"schedule":"decorrelated",)"
                        R"("backoff_base":"1s","backoff_cap":"1h","max_attempts":9,)"
                        R"("max_age":"2h","client_errors_end":true,"ordering":"by_key_skip")");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made["schedule"], "decorrelated");
  EXPECT_EQ(made["backoff_cap"], "1h");
  EXPECT_EQ(made["max_attempts"], "9");
  EXPECT_EQ(made["ordering"], "by_key_skip");
  const auto send = [&](const char* payload) {
    return api.ask("POST", kShop + "/messages",
                   R"({"type":"a","payload":)" + std::string(payload) + "}")["endpoints"];
  };
  EXPECT_EQ(send(R"({"data":{"country":"DE"}})"), "1");
  EXPECT_EQ(send(R"({"data":{"country":"AT"}})"), "0");
  EXPECT_EQ(add(R"(,"schedule":"linear")").status, 400);
  EXPECT_EQ(add(R"(,"max_attempts":0)").status, 400);
  EXPECT_EQ(add(R"(,"max_age":"1ms")").status, 400);
  EXPECT_EQ(add(R"(,"backoff_base":"2h","backoff_cap":"1h")").status, 400);
  EXPECT_EQ(add(R"(,"filter":{"a..b":"c"})").status, 400);
  EXPECT_EQ(add(R"(,"filter":{"a":1})").status, 400);
  const auto back = api.ask("PATCH", kShop + "/endpoints/" + made["id"],
                            R"({"schedule":null,"max_age":null,"filter":{}})");
  ASSERT_EQ(back.status, 200) << back.body;
  EXPECT_EQ(send("1"), "1");
}

TEST(ApiOperation, SwitchesHoldDeliveriesWithAReason) {
  ApiServer api;
  EXPECT_EQ(api.ask("PUT", "/v1/switches/deliveries", R"({"off":true})").status, 400);
  EXPECT_EQ(api.ask("PUT", "/v1/switches/hedging", R"({"off":false})").status, 404);
  EXPECT_EQ(api.ask("PUT", "/v1/switches/retries", R"({"off":false,"for":"1m"})").status, 400);
  const auto off = api.ask("PUT", "/v1/switches/deliveries",
                           R"({"off":true,"reason":"db failover","for":"30m"})");
  EXPECT_EQ(off.status, 200);
  EXPECT_EQ(off.json().find("data")->items[0].find("remaining")->text, "30m");
  api.server->run([&] {
    EXPECT_TRUE(api.deliveries.holding({}, Hold::deliveries).off);
    EXPECT_FALSE(api.deliveries.holding({}, Hold::retries).off);
  });
  api.store.edit([](const MemoryStore& rows) {
    EXPECT_EQ(rows.settings.count("hold.deliveries"), 1U);
    EXPECT_EQ(rows.settings.size(), 1U);
  });
  EXPECT_EQ(api.get("/v1/stats").json().find("switches")->items[0].find("reason")->text,
            "db failover");
}

// An endpoint that answers 410 while its secret is rotated: neither change is lost.
TEST(ApiOperation, ADispatchersDisableTakesItsTurnWithChangesByRequests) {
  for (const bool disable_first : {false, true}) {
    ApiServer api;
    const std::string endpoint = api.add_endpoint();
    const Id id = *parse_id(kEndpointPrefix, endpoint);
    // As the dispatcher knew it at the attempt.
    Endpoint disabled;
    api.server->run([&] { disabled = *api.directory.find(id); });
    disabled.config.disabled = true;
    disabled.config.disabled_reason = "the endpoint answered that it is gone";
    const auto disable = [&] {
      api.server->run([&] {
        api.handler.disable(
            disabled, [&](std::function<void()> then) { api.server->loop.post(std::move(then)); });
      });
    };
    api.store.pause(true);
    if (disable_first) disable();
    ApiServer::Answer rotated;
    std::thread client([&] {
      rotated =
          api.ask("POST", kShop + "/endpoints/" + endpoint + "/secret/rotate", R"({"grace":"1h"})");
    });
    std::size_t under_way = 0;
    while (under_way == 0) {
      api.server->run([&] { under_way = api.handler.waiting() + api.handler.queued_changes(); });
    }
    if (!disable_first) disable();
    api.store.pause(false);
    client.join();
    EXPECT_EQ(rotated.status, 200) << rotated.body;
    bool known = false;
    while (!known) api.server->run([&] { known = api.directory.find(id)->config.disabled; });
    EXPECT_EQ(api.get(kShop + "/endpoints/" + endpoint)["disabled_reason"],
              "the endpoint answered that it is gone");
    api.store.edit([&](const MemoryStore& rows) {
      EXPECT_TRUE(rows.endpoints.at(id).config.disabled) << disable_first;
      EXPECT_EQ(rows.endpoints.at(id).config.secrets.size(), 2U) << disable_first;
      EXPECT_EQ(rows.endpoints.at(id).config.secrets[0].key, rotated["secret"]);
    });
  }
}

TEST(ApiOperation, ADisableOfAnEndpointThatWasMendedMeanwhileHasNoEffect) {
  ApiServer api;
  const std::string endpoint = api.add_endpoint();
  const Id id = *parse_id(kEndpointPrefix, endpoint);
  Endpoint disabled;
  api.server->run([&] { disabled = *api.directory.find(id); });
  disabled.config.disabled = true;
  EXPECT_EQ(
      api.ask("PATCH", kShop + "/endpoints/" + endpoint, R"({"url":"http://example.com/new"})")
          .status,
      200);
  api.server->run([&] {
    api.handler.disable(disabled, [](const std::function<void()>&) { FAIL() << "a write"; });
  });
  EXPECT_EQ(api.get(kShop + "/endpoints/" + endpoint)["disabled"], "false");
}

TEST(ApiOperation, StatisticsCountTheStoreOnceForManyRequests) {  // (5)
  ApiServer api;
  api.store.pause(true);
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([&] { EXPECT_EQ(api.get("/v1/stats").status, 200); });
  }
  std::size_t counting = 0;
  while (counting < 3) api.server->run([&] { counting = api.handler.waiting_for_counts(); });
  api.store.pause(false);
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(api.get("/v1/stats").status, 200);
  api.store.edit([](const MemoryStore& rows) { EXPECT_EQ(rows.counts, 1); });
  api.now = kApiNow + ApiHandler::kCountAge;
  EXPECT_EQ(api.get("/v1/stats").status, 200);
  api.store.edit([](const MemoryStore& rows) { EXPECT_EQ(rows.counts, 2); });
}

TEST(ApiOperation, AClientDoesNotSeeWhatTheDatabaseSays) {
  std::string logged;
  ApiServer api({.on_store_error = [&](std::string_view reference, std::string_view sentence) {
    logged = std::string(reference) + ": " + std::string(sentence);
  }});
  api.store.fail(StoreError{StoreError::Kind::unavailable, "disk I/O error: /var/lib/w.db"});
  const auto answer = api.ask("POST", kShop + "/messages", R"({"type":"a","payload":1})");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer["error"].find("/var/lib"), std::string::npos) << answer.body;
  api.server->run([&] {
    const std::string reference = logged.substr(0, logged.find(':'));
    EXPECT_TRUE(answer["error"].ends_with(reference)) << answer.body << logged;
    EXPECT_TRUE(logged.ends_with(": disk I/O error: /var/lib/w.db")) << logged;
  });
}

TEST(ApiOperation, ARefusedAddressHasTheNextStep) {
  ApiServer api({.guard = http::EgressGuard{}});
  const auto error = [&](const std::string& url) {
    const auto answer = api.ask("POST", kShop + "/endpoints", R"({"url":")" + url + R"("})");
    EXPECT_EQ(answer.status, 400) << answer.body;
    return answer["error"];
  };
  EXPECT_TRUE(
      error("http://127.0.0.1:9000/hook")
          .ends_with("; damper webhooks serve --allow 127.0.0.0/8 (egress.allow) allows it"))
      << error("http://127.0.0.1:9000/hook");
  EXPECT_NE(error("http://10.1.2.3/").find("--allow 10.1.2.3/32"), std::string::npos);
  EXPECT_NE(error("http://[::1]/").find("--allow ::1/128"), std::string::npos);
  EXPECT_EQ(error("http://169.254.169.254/").find("--allow"), std::string::npos);
}

}  // namespace
}  // namespace damper::webhooks
