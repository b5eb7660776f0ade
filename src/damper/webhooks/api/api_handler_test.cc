#include "damper/webhooks/api/api_handler.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "damper/webhooks/api/api_server_testing.h"

namespace damper::webhooks {
namespace {

const std::string kApp = "/v1/applications/default";

// ---- Messages

TEST(ApiHandler, AMessageIsAcceptedWhenTheStoreHasIt) {  // (1)
  ApiServer api;
  const std::string endpoint = api.add_endpoint(R"(,"types":["invoice.*"])");
  (void)api.add_endpoint(R"(,"types":["user.*"])");
  api.store.pause(true);
  ApiServer::Answer answer;
  std::thread client([&] {
    answer = api.ask("POST", kApp + "/messages", R"({"type":"invoice.paid","payload":{"id":7}})");
  });
  std::size_t waiting = 0;
  while (waiting == 0) api.server->run([&] { waiting = api.handler.waiting(); });
  EXPECT_TRUE(api.deliveries.due.empty());
  api.store.pause(false);
  client.join();
  EXPECT_EQ(answer.status, 202);
  EXPECT_EQ(answer["endpoints"], "1");
  EXPECT_EQ(answer["repeated"], "false");
  api.server->run([&] {
    ASSERT_EQ(api.deliveries.due.size(), 1U);
    EXPECT_EQ(id_text(kEndpointPrefix, api.deliveries.due[0]), endpoint);
  });
  EXPECT_EQ(api.get(kApp + "/messages/" + answer["id"])["payload"], R"({"id":7})");
}

TEST(ApiHandler, ThePayloadIsDeliveredAsItsBytesInTheRequest) {
  ApiServer api;
  const std::string payload = R"({ "b" : 1.50,"a":[ null ], "a":"\u00e9\/" })";
  const auto answer =
      api.ask("POST", kApp + "/messages", R"({"payload": )" + payload + R"( , "type":"a.b"})");
  ASSERT_EQ(answer.status, 202) << answer.body;
  api.store.edit(
      [&](const MemoryStore& rows) { EXPECT_EQ(rows.messages.begin()->second.payload, payload); });
}

TEST(ApiHandler, ARepeatedKeyIsTheSameMessageAndAnotherBodyIsAConflict) {
  ApiServer api;
  (void)api.add_endpoint();
  const std::string body = R"({"type":"a","payload":1})";
  const auto first = api.ask("POST", kApp + "/messages", body, "Idempotency-Key: k-1\r\n");
  const auto second =
      api.ask("POST", kApp + "/messages", R"({"type":"a","payload":1,"idempotency_key":"k-1"})");
  EXPECT_EQ(first.status, 202);
  EXPECT_EQ(second.status, 202);
  EXPECT_EQ(second["id"], first["id"]);
  EXPECT_EQ(second["repeated"], "true");
  api.server->run([&] { EXPECT_EQ(api.deliveries.due.size(), 1U); });
  const auto other = api.ask("POST", kApp + "/messages", R"({"type":"a","payload":2})",
                             "Idempotency-Key: k-1\r\n");
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other["code"], "conflict");
  EXPECT_EQ(
      api.ask("POST", kApp + "/messages", R"({"type":"a","payload":1,"idempotency_key":"k-2"})",
              "Idempotency-Key: k-1\r\n")
          .status,
      400);
}

TEST(ApiHandler, AnIdThatExistsIsMadeAgain) {
  ApiServer api;
  api.store.edit([](MemoryStore& rows) { rows.exists_first = 3; });
  EXPECT_EQ(api.ask("POST", kApp + "/messages", R"({"type":"a","payload":1})").status, 202);
  api.store.edit([](MemoryStore& rows) { rows.exists_first = 4; });
  EXPECT_EQ(api.ask("POST", kApp + "/messages", R"({"type":"a","payload":1})").status, 409);
}

TEST(ApiHandler, APayloadHasALimit) {
  ApiServer api({.max_payload = 1024});
  const auto send = [&](std::size_t bytes) {
    return api
        .ask("POST", kApp + "/messages",
             R"({"type":"a","payload":")" + std::string(bytes - 2, 'x') + "\"}")
        .status;
  };
  EXPECT_EQ(send(1024), 202);
  EXPECT_EQ(send(1025), 413);
  EXPECT_EQ(send(100'000), 413);
}

TEST(ApiHandler, WithoutTheStoreTheAnswerIs503WithATime) {
  ApiServer api;
  api.store.fail(StoreError{StoreError::Kind::unavailable, "the disk is full"});
  const auto answer = api.ask("POST", kApp + "/messages", R"({"type":"a","payload":1})");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer["error"].substr(0, 26), "the store is not available");
  EXPECT_NE(answer.head.find("retry-after: 1"), std::string::npos) << answer.head;
  api.server->run([&] { EXPECT_TRUE(api.deliveries.due.empty()); });
}

TEST(ApiHandler, RequestsThatWaitForTheStoreAreBounded) {  // (4)
  ApiServer api({.max_waiting = 2});
  api.store.pause(true);
  std::vector<std::thread> clients;
  clients.reserve(2);
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back([&] {
      EXPECT_EQ(api.ask("POST", kApp + "/messages", R"({"type":"a","payload":1})").status, 202);
    });
  }
  std::size_t waiting = 0;
  while (waiting < 2) api.server->run([&] { waiting = api.handler.waiting(); });
  const auto third = api.ask("POST", kApp + "/messages", R"({"type":"a","payload":1})");
  EXPECT_EQ(third.status, 503);
  EXPECT_EQ(third["code"], "overloaded");
  EXPECT_EQ(api.get("/healthz").status, 200);  // It waits for nothing.
  api.store.pause(false);
  for (std::thread& client : clients) client.join();
}

TEST(ApiHandler, AfterItIsClosedNoResultIsUsed) {
  ApiServer api;
  (void)api.add_endpoint();
  api.store.pause(true);
  ApiServer::Answer answer;
  std::thread client(
      [&] { answer = api.ask("POST", kApp + "/messages", R"({"type":"a","payload":1})"); });
  std::size_t waiting = 0;
  while (waiting == 0) api.server->run([&] { waiting = api.handler.waiting(); });
  api.server->run([&] { api.handler.close(); });
  api.store.pause(false);
  client.join();
  EXPECT_EQ(answer.status, 500);  // as of every exchange that is released without an answer
  api.server->run([&] { EXPECT_TRUE(api.deliveries.due.empty()); });
}

TEST(ApiHandler, MessagesAreListedInPagesNewestFirst) {
  ApiServer api;
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(
        api.ask("POST", kApp + "/messages",
                i == 2 ? R"({"type":"b","payload":1})" : R"({"type":"a","payload":1})")["id"]);
  }
  const auto first = api.get(kApp + "/messages?limit=2");
  EXPECT_EQ(first.json().find("data")->items[0].find("id")->text, ids[4]);
  EXPECT_EQ(first["next"], ids[3]);
  const auto rest = api.get(kApp + "/messages?limit=4&before=" + first["next"]);
  EXPECT_EQ(rest.json().find("data")->items.size(), 3U);
  EXPECT_EQ(rest["next"], "null");
  EXPECT_EQ(api.get(kApp + "/messages?type=b").json().find("data")->items.size(), 1U);
  for (const char* const bad :
       {"limit=0", "limit=251", "limit=x", "before=ep_1", "type=a..b", "endpoint=7", "what=1"}) {
    EXPECT_EQ(api.get(kApp + "/messages?" + bad).status, 400) << bad;
  }
}

TEST(ApiHandler, AMessageHasItsDeliveriesAttemptsAndDeadLetters) {
  ApiServer api;
  const std::string endpoint = api.add_endpoint();
  const std::string id = api.ask("POST", kApp + "/messages", R"({"type":"a","payload":"x"})")["id"];
  const Id message = *parse_id(kMessagePrefix, id);
  const Id to = *parse_id(kEndpointPrefix, endpoint);
  api.store.edit([&](MemoryStore& rows) {
    rows.attempts.push_back({.number = 1,
                             .message = message,
                             .endpoint = to,
                             .attempt = 1,
                             .time = kApiNow,
                             .duration = std::chrono::milliseconds(12),
                             .status = 503,
                             .outcome = "overloaded",
                             .error = "",
                             .answer = "busy"});
    rows.dead.push_back({.endpoint = to,
                         .message = message,
                         .time = kApiNow,
                         .attempts = 1,
                         .reason = "attempts_spent"});
  });
  const auto details = api.get(kApp + "/messages/" + id).json();
  EXPECT_EQ(details.find("waiting")->items[0].find("endpoint")->text, endpoint);
  EXPECT_EQ(details.find("attempts")->items[0].find("duration")->text, "12ms");
  EXPECT_EQ(details.find("dead")->items[0].find("reason")->text, "attempts_spent");
  for (const std::string& list :
       {kApp + "/messages/" + id + "/attempts", kApp + "/endpoints/" + endpoint + "/attempts"}) {
    EXPECT_EQ(api.get(list).json().find("data")->items.size(), 1U) << list;
    EXPECT_EQ(api.get(list + "?limit=1")["next"], "1");
    EXPECT_EQ(api.get(list + "?before=1").json().find("data")->items.size(), 0U);
  }
  const auto dead = api.get(kApp + "/endpoints/" + endpoint + "/dead?limit=1");
  EXPECT_EQ(dead["next"], id);
  EXPECT_EQ(api.get(kApp + "/messages/msg_0000000000000").status, 404);
  EXPECT_EQ(api.get(kApp + "/messages/msg_0000000000000/attempts").status, 404);
  EXPECT_EQ(api.get(kApp + "/messages/x").status, 404);
}

TEST(ApiHandler, DeadLettersAreRedriven) {
  ApiServer api;
  const std::string endpoint = api.add_endpoint();
  const Id to = *parse_id(kEndpointPrefix, endpoint);
  api.store.edit([&](MemoryStore& rows) { rows.dead.push_back({.endpoint = to, .reason = "x"}); });
  const std::string path = kApp + "/endpoints/" + endpoint + "/redrive";
  EXPECT_EQ(api.ask("POST", path, R"({"dry_run":true})")["count"], "1");
  api.server->run([&] { EXPECT_TRUE(api.deliveries.due.empty()); });
  EXPECT_EQ(api.ask("POST", path, R"({"from":"2026-01-01T00:00:00Z","rate":5})")["count"], "1");
  api.server->run([&] { EXPECT_EQ(api.deliveries.due, std::vector{to}); });
  api.store.edit([&](const MemoryStore& rows) {
    EXPECT_EQ(rows.last_redrive->rate_per_second, 5);
    EXPECT_TRUE(rows.last_redrive->from);
    EXPECT_FALSE(rows.last_redrive->until);
  });
  EXPECT_EQ(api.ask("POST", path, R"({"rate":0})").status, 400);
  EXPECT_EQ(api.ask("POST", path, R"({"message":"ep_1"})").status, 400);
}

TEST(ApiHandler, ATestIsSentToOneEndpoint) {
  ApiServer api;
  const std::string endpoint = api.add_endpoint(R"(,"types":["invoice.paid"])");
  (void)api.add_endpoint();
  const std::string path = kApp + "/endpoints/" + endpoint;
  EXPECT_EQ(api.ask("POST", path + "/test")["endpoints"], "1");
  api.store.edit([&](const MemoryStore& rows) {
    EXPECT_EQ(rows.messages.begin()->second.type, "damper.test");
    EXPECT_EQ(rows.waiting.begin()->second.size(), 1U);
  });
  EXPECT_EQ(api.ask("PATCH", path, R"({"disabled":true})").status, 200);
  EXPECT_EQ(api.ask("POST", path + "/test").status, 409);
}

// ---- Applications and endpoints

TEST(ApiHandler, ApplicationsAreCreatedListedAndRemoved) {
  ApiServer api;
  EXPECT_EQ(api.ask("POST", "/v1/applications", R"({"name":"acme"})").status, 201);
  EXPECT_EQ(api.ask("POST", "/v1/applications", R"({"name":"acme"})").status, 409);
  EXPECT_EQ(api.ask("POST", "/v1/applications", R"({"name":"A/B"})").status, 400);
  EXPECT_EQ(api.get("/v1/applications").json().find("data")->items.size(), 2U);
  EXPECT_EQ(api.get("/v1/applications?limit=1")["next"], "acme");
  EXPECT_EQ(api.get("/v1/applications?after=acme").json().find("data")->items.size(), 1U);
  EXPECT_EQ(api.ask("DELETE", "/v1/applications/acme").status, 204);
  EXPECT_EQ(api.ask("DELETE", "/v1/applications/acme").status, 404);
  api.store.fail(StoreError{StoreError::Kind::unavailable, "no"});
  EXPECT_EQ(api.ask("POST", "/v1/applications", R"({"name":"late"})").status, 503);
  EXPECT_EQ(api.ask("DELETE", "/v1/applications/default").status, 503);  // (3)
  EXPECT_EQ(api.get("/v1/applications").json().find("data")->items.size(), 1U);
}

TEST(ApiHandler, AnEndpointIsCreatedChangedAndRemoved) {
  ApiServer api;
  const auto made = api.ask(
      "POST", kApp + "/endpoints",
      R"({"url":"https://example.com/h","types":["a.*"],"headers":{"X-Key":"v"},"rate":2.5,)"
      R"("timeout":"3s","retries":["5s","5m"],"ordering":"by_key","concurrency":3})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_TRUE(made["secret"].starts_with("whsec_"));
  EXPECT_EQ(made["retries"], R"(["5s","5m"])");
  const std::string path = kApp + "/endpoints/" + made["id"];
  const auto read = api.get(path);
  EXPECT_EQ(read.body.find("whsec_"), std::string::npos);  // The secret was shown once.
  EXPECT_EQ(read["ordering"], "by_key");
  const auto changed = api.ask("PATCH", path, R"({"rate":null,"retries":null,"timeout":null})");
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(changed["rate"], "null");
  EXPECT_EQ(changed["retries"], "null");
  EXPECT_EQ(changed["concurrency"], "3");
  EXPECT_EQ(changed["url"], "https://example.com/h");
  EXPECT_EQ(api.ask("PATCH", path, R"({"disabled":true})")["disabled_reason"], "by hand");
  api.server->run([&] { EXPECT_EQ(api.deliveries.changed.size(), 3U); });
  EXPECT_EQ(api.ask("DELETE", path).status, 204);
  EXPECT_EQ(api.get(path).status, 404);
  EXPECT_EQ(api.ask("PATCH", path, "{}").status, 404);
  api.store.edit([](const MemoryStore& rows) { EXPECT_TRUE(rows.endpoints.empty()); });
}

TEST(ApiHandler, ARefusedChangeChangesNothing) {  // (3)
  ApiServer api;
  const std::string path = kApp + "/endpoints/" + api.add_endpoint();
  for (const char* const bad :
       {R"({"concurrency":0})", R"({"url":"ftp://x"})", R"({"url":"http://a b"})",
        R"({"retries":["1x"]})", R"({"headers":{"webhook-id":"1"}})", R"({"ordering":"all"})",
        R"({"concurrency":2,"what":1})", R"({"secret":"whsec_x"})", R"({"types":"a"})", "[]",
        "{"}) {
    const auto answer = api.ask("PATCH", path, bad);
    EXPECT_EQ(answer.status, 400) << bad << answer.body;
  }
  EXPECT_EQ(api.get(path)["concurrency"], "16");
  api.store.fail(StoreError{StoreError::Kind::unavailable, "no"});
  EXPECT_EQ(api.ask("PATCH", path, R"({"concurrency":2})").status, 503);
  EXPECT_EQ(api.ask("DELETE", path).status, 503);
  EXPECT_EQ(api.get(path)["concurrency"], "16");
}

TEST(ApiHandler, ConcurrentChangesAreAllMade) {
  ApiServer api;
  const std::string path = kApp + "/endpoints/" + api.add_endpoint();
  api.store.pause(true);
  std::vector<std::thread> clients;
  const std::vector<std::string> changes = {R"({"concurrency":5})", R"({"description":"x"})",
                                            R"({"types":["a"]})"};
  clients.reserve(changes.size());
  for (const std::string& change : changes) {
    clients.emplace_back([&] { EXPECT_EQ(api.ask("PATCH", path, change).status, 200); });
  }
  api.store.pause(false);
  for (std::thread& client : clients) client.join();
  const auto answer = api.get(path);
  EXPECT_EQ(answer["concurrency"], "5");
  EXPECT_EQ(answer["description"], "x");
  EXPECT_EQ(answer["types"], R"(["a"])");
}

TEST(ApiHandler, ASecretIsRotatedWithAGraceOrAtOnce) {
  ApiServer api;
  const std::string path = kApp + "/endpoints/" + api.add_endpoint();
  const std::string first = api.get(path + "/secret")["secret"];
  const auto rotated = api.ask("POST", path + "/secret/rotate", R"({"grace":"1h"})");
  EXPECT_EQ(rotated.status, 200);
  EXPECT_NE(rotated["secret"], first);
  EXPECT_EQ(rotated["others"], "1");
  for (int i = 0; i < 12; ++i) (void)api.ask("POST", path + "/secret/rotate");
  EXPECT_EQ(api.get(path + "/secret")["others"], "9");
  EXPECT_EQ(api.ask("POST", path + "/secret/rotate", R"({"grace":"0s"})")["others"], "0");
  EXPECT_EQ(api.ask("POST", path + "/secret/rotate", R"({"secret":"whsec_short"})").status, 400);
}

TEST(ApiHandler, AUrlThatTheGuardRefusesIsRefused) {
  ApiServer api({.guard = http::EgressGuard{}});
  const auto add = [&](const char* url) {
    return api.ask("POST", kApp + "/endpoints", std::string(R"({"url":")") + url + "\"}").status;
  };
  EXPECT_EQ(add("http://127.0.0.1/h"), 400);
  EXPECT_EQ(add("http://169.254.169.254/latest"), 400);
  EXPECT_EQ(add("https://example.com/h"), 201);
}

TEST(ApiHandler, TheNumberOfEndpointsAndApplicationsIsBounded) {
  ApiServer api({.max_applications = 1, .max_endpoints = 1});
  (void)api.add_endpoint();
  const auto more = api.ask("POST", kApp + "/endpoints", R"({"url":"http://example.com"})");
  EXPECT_EQ(more.status, 409);
  EXPECT_EQ(more["code"], "limit");
  EXPECT_EQ(api.ask("POST", "/v1/applications", R"({"name":"b"})").status, 409);
}

TEST(ApiHandler, EndpointsAreListedInPagesNewestFirst) {
  ApiServer api;
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(api.add_endpoint());
  const auto first = api.get(kApp + "/endpoints?limit=2");
  EXPECT_EQ(first.json().find("data")->items[0].find("id")->text, ids[2]);
  EXPECT_EQ(first["next"], ids[1]);
  const auto rest = api.get(kApp + "/endpoints?before=" + ids[1]).json();
  ASSERT_EQ(rest.find("data")->items.size(), 1U);
  EXPECT_EQ(rest.find("data")->items[0].find("id")->text, ids[0]);
}

// ---- Access and errors

TEST(ApiHandler, ErrorsHaveASentenceAndACode) {
  ApiServer api;
  const auto unknown = api.get("/v1/nothing");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown["code"], "not_found");
  const auto method = api.ask("DELETE", kApp + "/messages");
  EXPECT_EQ(method.status, 405);
  EXPECT_NE(method.head.find("allow: POST, GET, HEAD"), std::string::npos) << method.head;
  const auto field =
      api.ask("POST", kApp + "/messages", R"({"type":"a","payload":1,"chanel":"b"})");
  EXPECT_EQ(field.status, 400);
  EXPECT_NE(field["error"].find("\"chanel\"; did you mean channel?"), std::string::npos);
  EXPECT_EQ(api.get("/v1/applications/none/endpoints").status, 404);
  EXPECT_EQ(api.ask("POST", kApp + "/endpoints/ep_0000000000000/test").status, 404);
  EXPECT_EQ(api.ask("DELETE", "/v1/applications/default", "{}").status, 400);
  EXPECT_EQ(api.ask("HEAD", "/healthz").status, 200);
}

TEST(ApiHandler, ABrowserCannotUseIt) {
  ApiServer api;
  const std::string get = "GET /v1/applications HTTP/1.1\r\nConnection: close\r\nHost: ";
  EXPECT_EQ(api.send(get + "evil.example\r\n\r\n").status, 403);
  EXPECT_EQ(api.send(get + "127.0.0.1:1\r\n\r\n").status, 200);
  const std::string body = R"({"type":"a","payload":1})";
  EXPECT_EQ(api.ask("POST", kApp + "/messages", body, "Origin: http://evil.example\r\n").status,
            403);
  EXPECT_EQ(
      api.ask("DELETE", "/v1/applications/default", {}, "Sec-Fetch-Site: cross-site\r\n").status,
      403);
  const auto typed = [&](const std::string& type) {
    return api
        .send("POST " + kApp + "/messages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
              type + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body)
        .status;
  };
  EXPECT_EQ(typed(""), 415);
  EXPECT_EQ(typed("Content-Type: text/plain\r\n"), 415);
  EXPECT_EQ(typed("Content-Type: application/json\r\n"), 202);
}

TEST(ApiHandler, ATokenGetsItsScopesOfItsApplication) {  // (2)
  ApiServer api({.tokens = *ApiTokens::parse("acme-reads-000000 acme read\n"
                                             "acme-sends-000000 acme send\n"
                                             "acme-manages-0000 acme manage,read\n"
                                             "all-of-them-00000 * send,read,manage\n"
                                             "all-reads-0000000 * read\n")});
  api.server->run([&] { api.directory.put_application("acme"); });
  const auto as = [&](const std::string& token, const std::string& method,
                      const std::string& target, const std::string& body = {}) {
    return api.ask(method, target, body, "Authorization: Bearer " + token + "\r\n");
  };
  const std::string acme = "/v1/applications/acme";
  const std::string message = R"({"type":"a","payload":1})";
  EXPECT_EQ(api.get(acme + "/endpoints").status, 401);
  EXPECT_EQ(as("nobody-0000000000", "GET", acme + "/endpoints").status, 401);
  EXPECT_EQ(as("acme-reads-000000", "GET", acme + "/endpoints").status, 200);
  EXPECT_EQ(as("acme-reads-000000", "POST", acme + "/messages", message).status, 403);
  EXPECT_EQ(as("acme-sends-000000", "POST", acme + "/messages", message).status, 202);
  EXPECT_EQ(as("acme-sends-000000", "GET", acme + "/messages").status, 403);
  const auto endpoint =
      as("acme-manages-0000", "POST", acme + "/endpoints", R"({"url":"http://example.com"})");
  EXPECT_EQ(endpoint.status, 201);
  EXPECT_EQ(
      as("acme-reads-000000", "GET", acme + "/endpoints/" + endpoint["id"] + "/secret").status,
      403);
  // Another application's: the same whether it exists or not.
  for (const char* const other : {"default", "none"}) {
    for (const char* const token :
         {"acme-reads-000000", "acme-sends-000000", "acme-manages-0000"}) {
      const auto answer = as(token, "GET", std::string("/v1/applications/") + other + "/messages");
      EXPECT_EQ(answer.status, 404);
      EXPECT_EQ(answer["error"], std::string("there is no application \"") + other + "\"");
    }
  }
  EXPECT_EQ(
      as("acme-manages-0000", "GET", "/v1/applications/default/endpoints/" + endpoint["id"]).status,
      404);
  EXPECT_EQ(
      as("all-of-them-00000", "GET", "/v1/applications/default/endpoints/" + endpoint["id"]).status,
      404);
  EXPECT_EQ(as("all-of-them-00000", "GET", acme + "/endpoints/" + endpoint["id"]).status, 200);
  // What belongs to no application.
  EXPECT_EQ(as("acme-manages-0000", "GET", "/v1/stats").status, 403);
  EXPECT_EQ(as("acme-manages-0000", "POST", "/v1/applications", R"({"name":"b"})").status, 403);
  EXPECT_EQ(as("acme-manages-0000", "DELETE", acme).status, 403);
  EXPECT_EQ(as("acme-manages-0000", "PUT", "/v1/switches/retries", R"({"off":false})").status, 403);
  EXPECT_EQ(as("all-reads-0000000", "GET", "/v1/stats").status, 200);
  EXPECT_EQ(as("all-reads-0000000", "PUT", "/v1/switches/retries", R"({"off":false})").status, 403);
  const auto own = as("acme-reads-000000", "GET", "/v1/applications").json();
  ASSERT_EQ(own.find("data")->items.size(), 1U);
  EXPECT_EQ(own.find("data")->items[0].find("name")->text, "acme");
  EXPECT_EQ(api.get("/healthz").status, 200);
  EXPECT_EQ(api.get("/openapi.json").status, 200);
}

TEST(ApiHandler, WithoutLoopbackThereAreTokens) {
  EXPECT_TRUE(find_error(ApiOptions{.loopback = false}));
  EXPECT_FALSE(find_error(
      ApiOptions{.loopback = false, .tokens = *ApiTokens::parse("0123456789abcdef * read")}));
  EXPECT_TRUE(find_error(ApiOptions{.max_payload = 1}));
  EXPECT_TRUE(find_error(ApiOptions{.max_waiting = 0}));
}

}  // namespace
}  // namespace damper::webhooks
