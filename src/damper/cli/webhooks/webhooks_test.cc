#include "damper/cli/webhooks/webhooks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/cli/program_testing.h"
#include "damper/http/server/token_testing.h"
#include "damper/webhooks/api/api_server_testing.h"

namespace damper::cli {
namespace {

using ::testing::Test;
using webhooks::Id;
using webhooks::MemoryStore;

class Webhooks : public Test {
 protected:
  Result run_as(const webhooks::ApiServer& server, std::vector<std::string> arguments,
                const std::string& input = {}) {
    arguments.insert(
        arguments.begin(),
        {"webhooks", "--server", "http://127.0.0.1:" + std::to_string(server.server->port)});
    return damper(std::move(arguments), input);
  }
  Result hooks(std::vector<std::string> arguments, const std::string& input = {}) {
    return run_as(api, std::move(arguments), input);
  }
  [[nodiscard]] static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  // A message of the key "k" that has one failed attempt and is dead, or delivered.
  std::string add_message(const std::string& endpoint, bool dead) {
    const std::string id =
        api.ask("POST", "/v1/applications/default/messages", R"({"type":"a","payload":{"id":7}})",
                "Idempotency-Key: k\r\n")["id"];
    const Id message = *webhooks::parse_id(webhooks::kMessagePrefix, id);
    const Id to = *webhooks::parse_id(webhooks::kEndpointPrefix, endpoint);
    api.store.edit([&](MemoryStore& rows) {
      rows.waiting.clear();
      rows.attempts.push_back({.number = 1,
                               .message = message,
                               .endpoint = to,
                               .time = webhooks::kApiNow,
                               .duration = std::chrono::microseconds(11'999),
                               .status = dead ? 500 : 200,
                               .outcome = dead ? "server_error" : "success",
                               .error = "",
                               .answer = "hello\x1b[31m"});
      if (!dead) return;
      rows.dead.push_back({.endpoint = to,
                           .message = message,
                           .time = webhooks::kApiNow,
                           .attempts = 9,
                           .reason = "attempts_spent"});
    });
    return id;
  }

  webhooks::ApiServer api;
};

TEST_F(Webhooks, ANewcomersCommands) {
  EXPECT_TRUE(has(hooks({"endpoints"}).out, "no endpoints; add one with"));
  const Result added = hooks({"endpoints", "add", "http://127.0.0.1:9000/hook"});
  ASSERT_EQ(added.status, kOk) << added.err;
  EXPECT_TRUE(has(added.out, ": added, for http://127.0.0.1:9000/hook\nsecret: whsec_"));
  EXPECT_TRUE(has(added.out, "damper webhooks listen --secret whsec_"));
  const Result sent = hooks({"send", "invoice.paid", R"({"id": 7})"});
  EXPECT_EQ(sent.status, kOk) << sent.err;
  EXPECT_TRUE(has(sent.out, ": accepted, for 1 endpoint\n")) << sent.out;
  EXPECT_TRUE(sent.out.starts_with("msg_"));
  api.store.edit([](const MemoryStore& rows) {
    EXPECT_EQ(rows.messages.begin()->second.payload, R"({"id": 7})");
    EXPECT_FALSE(rows.messages.begin()->second.idempotency_key.empty());
  });
  const std::string list = hooks({"endpoints"}).out;
  EXPECT_TRUE(has(list, "http://127.0.0.1:9000/hook")) << list;
  EXPECT_TRUE(has(hooks({"messages"}).out, "invoice.paid"));
}

TEST_F(Webhooks, APayloadIsCheckedBeforeItIsSent) {
  const Result bad = hooks({"send", "a", "{id: 7}"});
  EXPECT_EQ(bad.status, kTrouble);
  EXPECT_TRUE(has(bad.err, "needs single quotes")) << bad.err;
  EXPECT_EQ(hooks({"send", "a", "1,\"type\":\"b\""}).status, kTrouble);
  const Result from = hooks({"send", "a", "-"}, "[1, 2]\n");
  EXPECT_EQ(from.status, kOk) << from.err;
  EXPECT_TRUE(has(from.out, "for 0 endpoints")) << from.out;
  EXPECT_TRUE(has(from.out, "no endpoint gets messages of this type")) << from.out;
}

TEST_F(Webhooks, AWaitPrintsTheAttemptsAndTheEnd) {
  const std::string endpoint = api.add_endpoint();
  const std::string id = add_message(endpoint, false);
  const Result good = hooks({"send", "a", R"({"id":7})", "--key", "k", "--wait"});
  EXPECT_EQ(good.status, kOk) << good.err;
  EXPECT_TRUE(has(good.out, "this key was sent before")) << good.out;
  EXPECT_TRUE(has(good.out, endpoint + "  attempt 1: 200 in 12ms\ndelivered\n")) << good.out;
  api.store.edit([&](MemoryStore& rows) {
    rows.dead.push_back({.message = rows.messages.begin()->first, .reason = "x"});
  });
  const Result dead = hooks({"send", "a", R"({"id":7})", "--key", "k", "--wait"});
  EXPECT_EQ(dead.status, 1);
  EXPECT_TRUE(has(dead.out, "dead: see damper webhooks messages " + id)) << dead.out;
  api.store.edit([](MemoryStore& rows) { rows.waiting[rows.messages.begin()->first] = {{}}; });
  const Result late =
      hooks({"send", "a", R"({"id":7})", "--key", "k", "--wait", "--wait-for", "0s"});
  EXPECT_EQ(late.status, 1);
  EXPECT_TRUE(has(late.out, "still waiting")) << late.out;
}

TEST_F(Webhooks, MessagesAttemptsAndDeadLettersAreTables) {
  const std::string endpoint = api.add_endpoint();
  const std::string id = add_message(endpoint, true);
  const std::string message = hooks({"messages", id}).out;
  EXPECT_TRUE(has(message, id + ": a, ")) << message;
  EXPECT_TRUE(has(message, ", dead\npayload: {\"id\":7}\n")) << message;
  EXPECT_TRUE(has(message, "attempts_spent")) << message;
  EXPECT_EQ(message.find('\x1b'), std::string::npos);  // of the receiver's answer
  for (const std::string& of : {id, endpoint}) {
    const std::string attempts = hooks({"attempts", of}).out;
    EXPECT_TRUE(has(attempts, "server_error")) << attempts;
  }
  EXPECT_TRUE(has(hooks({"dead", endpoint}).out, "attempts_spent"));
  EXPECT_TRUE(has(hooks({"attempts", endpoint, "--limit", "1"}).out, "--before 1)"));
  EXPECT_EQ(hooks({"redrive", endpoint, "--dry-run"}).out,
            "1 dead letters would be delivered again\n");
  EXPECT_EQ(hooks({"redrive", endpoint, "--rate", "5"}).out,
            "1 of 1 dead letters are delivered again\n");
  api.store.edit([](const MemoryStore& rows) { EXPECT_EQ(rows.last_redrive->rate_per_second, 5); });
  EXPECT_TRUE(has(hooks({"stats"}).out, "messages"));
  EXPECT_TRUE(has(hooks({"--json", "stats"}).out, R"("messages":1)"));
  EXPECT_EQ(hooks({"attempts", "x"}).status, kTrouble);
}

TEST_F(Webhooks, AnEndpointIsShownChangedAndRemoved) {
  ASSERT_EQ(hooks({"endpoints", "add", "https://example.com/h", "--type", "a.*", "--header",
                   "X-Key: v", "--rate", "2.5", "--retry", "5s", "--retry", "5m", "--timeout", "3s",
                   "--concurrency", "4", "--ordering", "by_key"})
                .status,
            kOk);
  std::string id;
  api.store.edit([&](const MemoryStore& rows) {
    const auto& [number, endpoint] = *rows.endpoints.begin();
    id = webhooks::id_text(webhooks::kEndpointPrefix, number);
    EXPECT_EQ(endpoint.config.headers[0].second, "v");
    EXPECT_EQ(endpoint.config.retries->size(), 2U);
    EXPECT_EQ(endpoint.config.concurrency, 4);
  });
  const std::string shown = hooks({"endpoints", "show", id}).out;
  EXPECT_TRUE(has(shown, "url                https://example.com/h\n")) << shown;
  EXPECT_TRUE(has(shown, "breaker            closed\n")) << shown;
  EXPECT_TRUE(has(shown, "client_errors_end  no\n")) << shown;
  EXPECT_TRUE(has(hooks({"endpoints", "disable", id, "--reason", "INC-7"}).out, "INC-7"));
  EXPECT_TRUE(has(hooks({"endpoints"}).out, "disabled: INC-7"));
  EXPECT_EQ(hooks({"endpoints", "test", id}).status, 1);
  EXPECT_EQ(hooks({"endpoints", "enable", id}).status, kOk);
  EXPECT_TRUE(has(hooks({"endpoints", "test", id}).out, "msg_"));
  EXPECT_TRUE(
      has(hooks({"endpoints", "rotate", id, "--grace", "1h"}).out, "others             1\n"));
  EXPECT_TRUE(has(hooks({"endpoints", "secret", id}).out, "whsec_"));
  EXPECT_EQ(hooks({"endpoints", "remove", id}).out, id + ": done\n");
  EXPECT_EQ(hooks({"endpoints", "show", id}).status, 1);
  EXPECT_EQ(hooks({"endpoints", "add", "http://x", "--header", "none"}).status, kTrouble);
}

TEST_F(Webhooks, TheListShowsWhatIsHeld) {
  api.add_endpoint();
  EXPECT_TRUE(has(hooks({"endpoints"}).out, " ok "));
  api.deliveries.state.held = "retries";
  api.deliveries.state.held_scope = webhooks::kAllScope;
  EXPECT_TRUE(has(hooks({"endpoints"}).out, " held: retries of all "));
  api.deliveries.state.held_scope = webhooks::kApplicationScope;
  EXPECT_TRUE(has(hooks({"endpoints"}).out, " held: retries of the application "));
}

TEST(WebhooksText, ADurationHasAboutThreeDigits) {
  EXPECT_EQ(short_duration("2775.995us"), "2.78ms");
  EXPECT_EQ(short_duration("999.6us"), "1ms");
  EXPECT_EQ(short_duration("15.0004s"), "15s");
  EXPECT_EQ(short_duration("1799999.123ms"), "30m");
  EXPECT_EQ(short_duration("89999999us"), "1.5m");
  EXPECT_EQ(short_duration("0s"), "0s");
  EXPECT_EQ(short_duration("-"), "-");
}

TEST_F(Webhooks, AnErrorIsASentenceWithTheNextStep) {
  const Result refused = hooks({"endpoints", "add", "ftp://x"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(has(refused.err, "damper: url is \"ftp://x\"")) << refused.err;
  const Result nothing = damper({"webhooks", "--server", "http://127.0.0.1:1", "send", "a", "1"});
  EXPECT_EQ(nothing.status, kTrouble);
  EXPECT_TRUE(has(nothing.err, "damper webhooks serve")) << nothing.err;
  EXPECT_EQ(damper({"webhooks", "--server", "x y", "stats"}).status, kTrouble);
  EXPECT_EQ(hooks({"--application", "A", "stats"}).status, kTrouble);
  EXPECT_EQ(hooks({"--application", "none", "endpoints"}).status, 1);
}

TEST_F(Webhooks, ATokenIsReadFromAFile) {
  const webhooks::ApiServer guarded(
      {.tokens = *webhooks::ApiTokens::parse("0123456789abcdef * read,manage")});
  const http::TokenFile file("0123456789abcdef\n");
  const http::TokenFile wrong("fedcba9876543210\n");
  EXPECT_TRUE(has(run_as(guarded, {"stats"}).err, "give its file with --token-file"));
  EXPECT_TRUE(has(run_as(guarded, {"stats", "--token-file", wrong.path()}).err,
                  "is --token-file the one of this dispatcher?"));
  EXPECT_EQ(run_as(guarded, {"stats", "--token-file", file.path()}).status, kOk);
  EXPECT_EQ(run_as(guarded, {"stats", "--token-file", "/nonexistent"}).status, kTrouble);
}

TEST_F(Webhooks, SwitchesAreSetAndShown) {
  EXPECT_EQ(hooks({"switches"}).out, "nothing is switched off\n");
  const std::string endpoint = api.add_endpoint();
  EXPECT_EQ(hooks({"retries", "off"}).status, 1) << "a reason is needed";
  const Result off =
      hooks({"deliveries", "off", "--reason", "INC-7", "--for", "30m", "--endpoint", endpoint});
  EXPECT_EQ(off.status, kOk) << off.err;
  EXPECT_EQ(off.out, "deliveries of " + endpoint + " are off\nOFF: deliveries of " + endpoint +
                         ", for another 30m: INC-7\n");
  EXPECT_EQ(hooks({"retries", "off", "--reason", "x", "--of", "default"}).status, kOk);
  EXPECT_EQ(hooks({"switches"}).out, "OFF: deliveries of " + endpoint +
                                         ", for another 30m: INC-7\nOFF: retries of default, until "
                                         "it is turned on: x\n");
  EXPECT_EQ(hooks({"deliveries", "on", "--endpoint", endpoint}).out,
            "deliveries of " + endpoint + " are on\n");
  EXPECT_EQ(
      hooks({"retries", "off", "--reason", "x"}).out,
      "retries of all are off\nOFF: retries of all, until it is turned on: x\nOFF: retries of "
      "default, until it is turned on: x\n");
  EXPECT_EQ(hooks({"retries", "on"}).status, kOk);
  EXPECT_EQ(hooks({"retries", "on", "--of", "default"}).status, kOk);
  EXPECT_EQ(hooks({"switches"}).out, "nothing is switched off\n");
}

}  // namespace
}  // namespace damper::cli
