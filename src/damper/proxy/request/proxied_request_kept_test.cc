#include <deque>

#include "damper/proxy/request/proxied_request_testing.h"

// Bodies in memory: request_buffering, and the bound of all of them.
namespace damper::proxy {
namespace {

using namespace std::chrono_literals;
using Visit = Backend::Visit;

constexpr std::size_t kMuch = std::size_t{8} << 20;  // More than sockets and windows hold.
constexpr std::size_t kBuffer = 1000;

Stage& buffering(Stage& stage) {
  stage.route.request_buffering = true;
  stage.route.request_buffer = kBuffer;
  return stage;
}

Backend& add_echo(Stage& stage) {
  return stage.add([](Visit& visit) { visit.respond(200, "got " + visit.request.body); });
}

TEST(ProxiedRequestBuffering, AReplicaIsAskedWhenTheBodyIsThere) {
  Stage stage;
  Backend& backend = add_echo(buffering(stage));
  stage.begin();
  Talker talker(stage.client());
  talker.open(stage.url, stage.make("POST", "/"), false);
  talker.say("a");
  stage.run_for(50ms);
  EXPECT_EQ(backend.requests(), 0U);
  talker.say("b", true);
  stage.run_until([&] { return talker.whole; });
  EXPECT_EQ(talker.response.body, "got ab");
  EXPECT_EQ(stage.get()->status, 200);  // Without a body.
}

TEST(ProxiedRequestBuffering, OrRequestBufferOfIt) {
  Stage stage;
  Backend& backend = add_echo(buffering(stage));
  stage.begin();
  Talker talker(stage.client());
  talker.open(stage.url, stage.make("POST", "/"), false);
  talker.say(std::string(kBuffer - 1, 'x'));
  stage.run_for(50ms);
  EXPECT_EQ(backend.requests(), 0U);
  talker.say("x");
  stage.run_until([&] { return backend.requests() == 1; });
  stage.run_until([&] { return backend.visits.front().received == kBuffer; });
  talker.say("y", true);
  stage.run_until([&] { return talker.whole; });
  EXPECT_EQ(talker.response.body.size(), kBuffer + 5);
}

TEST(ProxiedRequestBuffering, TrapD1_TheDeadlineCountsFromTheFirstByteAndIsTheClients) {
  Stage stage;
  Backend& backend = add_echo(buffering(stage));
  stage.route.settings.policy.call.timeout = 50ms;
  stage.route.settings.policy.breaker = {.consecutive_failures = 1};
  stage.begin();
  Talker talker(stage.client());
  talker.open(stage.url, stage.make("POST", "/"), false);
  talker.say("a");
  stage.run_until([&] { return talker.answered; });
  EXPECT_EQ(talker.response.status, 408);
  EXPECT_EQ(stage.record().verdict, Verdict::deadline_passed);
  EXPECT_EQ(backend.requests(), 0U);
  EXPECT_EQ(stage.shared->dependency().breaker().state(stage.loop.now()),
            admit::BreakerState::closed);
}

TEST(ProxiedRequestBuffering, AClientThatGoesIsForgotten) {
  Stage stage;
  Backend& backend = add_echo(buffering(stage));
  stage.begin();
  Talker talker(stage.client());
  talker.open(stage.url, stage.make("POST", "/"), false);
  talker.say("a");
  stage.run_until([&] { return stage.sink->under_way() == 1; });
  talker.cancel();
  EXPECT_EQ(stage.record().verdict, Verdict::cancelled);
  EXPECT_EQ(backend.requests(), 0U);
}

TEST(ProxiedRequestBuffering, TheAdmissionIsAskedAfterIt) {
  Stage stage;
  add_echo(buffering(stage));
  stage.route.admission = http::AdmissionOptions{
      .limit = {.kind = admit::LimitKind::fixed, .initial = 1}, .longest_wait = 60s};
  stage.begin();
  Talker talker(stage.client());
  talker.open(stage.url, stage.make("POST", "/"), false);
  talker.say("a");
  stage.run_until([&] { return stage.sink->under_way() == 1; });
  EXPECT_EQ(stage.get()->status, 200);
  talker.say("b", true);
  stage.run_until([&] { return talker.whole; });
  EXPECT_EQ(talker.response.body, "got ab");
  EXPECT_EQ(stage.admission->admission().in_flight(), 0);
}

constexpr std::size_t kUncounted = std::size_t{2} * 1024;

TEST(ProxiedRequestKept, TheBytesOfAllBodiesAreCounted) {
  Stage stage;
  Backend& backend = stage.add();
  stage.kept = std::make_shared<KeptBytes>(std::size_t{1} << 20);
  stage.begin();
  Talker talker(stage.client());
  talker.open(stage.url, stage.make("PUT", "/"), false);
  talker.say(std::string(kUncounted, 'x'));
  stage.run_until(
      [&] { return !backend.visits.empty() && backend.visits.front().received == kUncounted; });
  const std::size_t head = stage.kept->now();
  EXPECT_LT(head, 1000U);
  talker.say("xyz", true);
  stage.run_until([&] { return backend.visits.front().whole; });
  EXPECT_EQ(stage.kept->now(), head + 3);  // For a retry.
  backend.visits.front().respond(200);
  stage.run_until([&] { return talker.whole; });
  (void)stage.record();
  EXPECT_EQ(stage.kept->now(), 0U);
  EXPECT_EQ(stage.kept->refused(), 0U);
}

// A few bytes of HTTP/2 may make a large head.
TEST(ProxiedRequestKept, AHeadCounts) {
  Stage stage;
  Backend& backend = add_echo(buffering(stage));
  stage.kept = std::make_shared<KeptBytes>(1000);
  stage.begin();
  const auto with = [&](std::size_t size) {
    http::FieldList fields;
    fields.add("x-a", std::string(size, 'x'));
    return stage.fetch(stage.make("GET", "/", {}, fields));
  };
  EXPECT_EQ(with(kUncounted - 1000)->status, 200);
  const auto refused = with(kUncounted + 1000);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(stage.record().verdict, Verdict::shed);
  EXPECT_EQ(backend.requests(), 1U);
  EXPECT_EQ(stage.kept->now(), 0U);
}

TEST(ProxiedRequestKept, WithoutRoomABodyIsSentAndNotKept) {
  Stage stage;
  Backend& backend = stage.add([](Visit& visit) { visit.respond(503); });
  stage.kept = std::make_shared<KeptBytes>(1);
  stage.begin();
  (void)stage.fetch(stage.make("POST", "/"));  // The replica has a connection then.
  const std::string body(kUncounted + 1000, 'x');
  EXPECT_EQ(stage.fetch(stage.make("PUT", "/", body))->status, 503);
  EXPECT_EQ(stage.record().verdict, Verdict::unrepeatable);
  EXPECT_EQ(backend.requests(), 2U);
  EXPECT_EQ(backend.visits.back().received, body.size());
  EXPECT_GT(stage.kept->refused(), 0U);
  // A small one is repeated as ever.
  EXPECT_EQ(stage.fetch(stage.make("PUT", "/", "small"))->status, 503);
  EXPECT_EQ(stage.record().verdict, Verdict::attempts_spent);
  EXPECT_EQ(stage.kept->now(), 0U);
}

TEST(ProxiedRequestKept, WithoutRoomABodyThatHasToBeKeptIsShed) {
  Stage stage;
  Backend& backend = add_echo(buffering(stage));
  stage.route.request_buffer = 10 * kUncounted;
  stage.kept = std::make_shared<KeptBytes>(1000);
  stage.begin();
  const std::string body(kUncounted + 1001, 'x');
  const auto answer = stage.fetch(stage.make("PUT", "/", body));
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->body, "damper: the requests in memory have reached max_kept_bytes\n");
  EXPECT_EQ(stage.record().verdict, Verdict::shed);
  EXPECT_EQ(backend.requests(), 0U);
  EXPECT_EQ(stage.kept->now(), 0U);
  EXPECT_EQ(stage.fetch(stage.make("PUT", "/", body.substr(1000)))->status, 200);
}

TEST(ProxiedRequestKept, UploadsThatStallMakeRoomForOthers) {
  Stage stage;
  Backend& backend = add_echo(buffering(stage));
  stage.route.request_buffer = 20 * kUncounted;
  stage.kept = std::make_shared<KeptBytes>(10 * kUncounted);
  stage.begin();
  std::deque<Talker> stalled;
  for (int i = 0; i < 4; ++i) {
    Talker& talker = stalled.emplace_back(stage.client());
    talker.length = 4 * kUncounted;
    talker.open(stage.url, stage.make("PUT", "/"), false);
    talker.say(std::string(3 * kUncounted, 'x'));
  }
  const std::string body(5 * kUncounted, 'x');
  EXPECT_EQ(stage.fetch(stage.make("PUT", "/", body))->status, 503);  // They may go on yet.
  stage.run_for(1100ms);
  EXPECT_EQ(stage.fetch(stage.make("PUT", "/", body))->status, 200);
  EXPECT_EQ(backend.requests(), 1U);
  stage.run_until([&] { return stalled.front().answered; });
  EXPECT_EQ(stalled.front().response.status, 408);
  for (Talker& talker : stalled) {
    if (!talker.answered) talker.cancel();
  }
}

TEST(ProxiedRequestKept, AnUploadWhoseEndMakesNoRoomIsNotShed) {
  Stage stage;
  add_echo(buffering(stage));
  stage.route.request_buffer = 20 * kUncounted;
  stage.kept = std::make_shared<KeptBytes>(4 * kUncounted);
  stage.begin();
  Talker small(stage.client());
  small.length = 200;
  small.open(stage.url, stage.make("PUT", "/"), false);
  small.say(std::string(100, 'x'));
  Talker large(stage.client());
  large.length = 5 * kUncounted;
  large.open(stage.url, stage.make("PUT", "/"), false);
  large.say(std::string(4 * kUncounted, 'x'));
  stage.run_for(1100ms);
  EXPECT_EQ(stage.fetch(stage.make("PUT", "/", std::string(4 * kUncounted, 'x')))->status, 200);
  stage.run_until([&] { return large.answered; });
  EXPECT_EQ(large.response.status, 408);
  small.say(std::string(100, 'x'), true);
  stage.run_until([&] { return small.answered; });
  EXPECT_EQ(small.response.status, 200);
}

TEST(ProxiedRequestKept, AStalledUploadWhoseClientHasGoneIsNotShed) {
  Stage stage;
  add_echo(buffering(stage));
  stage.route.request_buffer = 20 * kUncounted;
  stage.kept = std::make_shared<KeptBytes>(4 * kUncounted + kUncounted / 2);
  stage.begin();
  std::deque<Talker> stalled;
  for (int i = 0; i < 4; ++i) {
    Talker& talker = stalled.emplace_back(stage.client());
    talker.length = 4 * kUncounted;
    talker.open(stage.url, stage.make("PUT", "/"), false);
    talker.say(std::string(2 * kUncounted, 'x'));
    stage.run_until([&] { return stage.sink->under_way() == stalled.size(); });
  }
  stage.run_for(1100ms);
  stalled[0].cancel();  // Those that have stalled for the longest time.
  stalled[1].cancel();
  EXPECT_EQ(stage.fetch(stage.make("PUT", "/", std::string(4 * kUncounted, 'x')))->status, 200);
  stage.run_until([&] { return stalled[2].answered; });
  EXPECT_EQ(stalled[2].response.status, 408);
  EXPECT_FALSE(stalled[3].answered);
  stalled[3].cancel();
}

TEST(ProxiedRequestKept, AnUploadThatStalledIsNotShedForItsOwnTrailers) {
  Stage stage;
  add_echo(buffering(stage));
  stage.route.request_buffer = 4 * kUncounted;
  stage.kept = std::make_shared<KeptBytes>(kUncounted);
  stage.begin();
  Talker talker(stage.client());
  talker.open(stage.url, stage.make("PUT", "/"), false);
  talker.say(std::string(kUncounted + kUncounted / 2, 'x'));
  stage.run_for(1100ms);
  talker.trailers = {{"x-long", std::string(kUncounted, 'x')}};
  talker.say("", true);
  stage.run_until([&] { return talker.answered; });
  EXPECT_EQ(talker.response.status, 503);
  EXPECT_EQ(stage.record().verdict, Verdict::shed);
  EXPECT_EQ(stage.kept->now(), 0U);
}

TEST(ProxiedRequestKept, WithoutRoomAResponseIsNotBuffered) {
  Stage stage;
  Backend& backend = stage.add();
  backend.on_request = [](Visit& visit) {
    visit.send_head({.status = 200});
    visit.say(std::string(kUncounted + 1000, 'x'));
  };
  stage.route.response_buffer = 10 * kUncounted;
  stage.kept = std::make_shared<KeptBytes>(1);
  stage.begin();
  Talker talker(stage.client());
  talker.open(stage.url, stage.make("GET", "/"));
  stage.run_until([&] { return talker.received == kUncounted + 1000; });
  backend.visits.front().say("", true);
  stage.run_until([&] { return talker.whole; });
  EXPECT_EQ(stage.record().status, 200);
}

TEST(ProxiedRequestKept, WithoutRoomAClientThatDoesNotReadIsCut) {
  Stage stage;
  stage.add([](Visit& visit) { visit.respond(200, std::string(kMuch, 'x')); });
  stage.kept = std::make_shared<KeptBytes>(1);
  stage.begin();
  Talker slow(stage.client());
  slow.consumes = false;
  slow.open(stage.url, stage.make("GET", "/"));
  stage.run_until([&] { return !stage.records.empty(); });
  EXPECT_EQ(stage.record().verdict, Verdict::shed);
  EXPECT_EQ(stage.records.back().ended, http::CloseReason::cancelled);
  EXPECT_EQ(stage.kept->now(), 0U);
}

}  // namespace
}  // namespace damper::proxy
