#include "damper/proxy/request/proxied_request_testing.h"

// Clients that stall hold nothing that others need: see docs/design/0038.
namespace damper::proxy {
namespace {

using namespace std::chrono_literals;
using Visit = Backend::Visit;

constexpr std::size_t kMuch = std::size_t{8} << 20;  // More than sockets and windows hold.

http::AdmissionOptions one_at_a_time() {
  return {.limit = {.kind = admit::LimitKind::fixed, .initial = 1},
          .queue = {.capacity = 1},
          .longest_wait = 20ms};
}

std::size_t connections(Stage& stage) {
  ClusterState state;
  stage.upstream->describe(state, stage.loop.now());
  return state.replicas.front().connections;
}

// A backend that answers complete requests with "ok", and /much with kMuch.
Backend& add_backend(Stage& stage) {
  return stage.add([](Visit& visit) {
    visit.respond(200, visit.request.target == "/much" ? std::string(kMuch, 'x') : "ok");
  });
}

using Length = std::optional<std::uint64_t>;  // nothing: it is chunked

// A POST of `length` bytes of which `sent` have arrived at the replica.
void begin_upload(Stage& stage, Talker& talker, Length length, std::size_t sent) {
  Backend& backend = stage.backends.front();
  const std::size_t before = backend.requests();
  talker.length = length;
  talker.open(stage.url, stage.make("POST", "/"), false);
  talker.say(std::string(sent, 'x'));
  stage.run_until(
      [&] { return backend.requests() == before + 1 && backend.visits.back().received == sent; });
}

TEST(ProxiedRequestStall, TrapS3_AnUploadThatStallsTakesNoConnectionFromOthers) {
  Stage stage;
  add_backend(stage);
  stage.cluster.pool.max_connections = 1;
  stage.cluster.pool.max_waiting = 0;
  stage.begin();
  Talker first(stage.client());
  Talker second(stage.client());
  begin_upload(stage, first, {}, 5);
  begin_upload(stage, second, {}, 5);
  EXPECT_EQ(stage.get()->status, 200);
  EXPECT_EQ(connections(stage), 3U);
  first.say("more", true);
  stage.run_until([&] { return first.whole; });
  second.say("more", true);
  stage.run_until([&] { return second.whole; });
  EXPECT_EQ(first.response.body + second.response.body, "okok");
  EXPECT_EQ(stage.get()->status, 200);
  stage.run_until([&] { return connections(stage) == 1; });  // Those over the bound are closed.
}

TEST(ProxiedRequestStall, ACompleteUploadIsHeldNoMoreAlthoughItsAnswerCameBefore) {
  Stage stage;
  Backend& backend = stage.add([](Visit&) {});
  stage.cluster.pool.max_connections = 1;
  stage.cluster.pool.max_waiting = 0;
  stage.begin();
  Talker talker(stage.client());
  begin_upload(stage, talker, 10, 9);
  backend.visits.front().send_head({.status = 200});
  stage.run_until([&] { return talker.answered; });
  talker.say("x", true);
  stage.run_until([&] { return backend.visits.front().whole; });
  EXPECT_EQ(stage.get()->status, 503);  // The connection counts.
  talker.cancel();
}

TEST(ProxiedRequestStall, BeyondMaxHeldConnectionsCount) {
  const auto held = std::make_shared<admit::Quota>(1);  // Of all pools that share it.
  for (const bool shared : {false, true}) {
    Stage stage;
    add_backend(stage);
    stage.cluster.pool.max_connections = 1;
    stage.cluster.pool.max_waiting = 0;
    shared ? void(stage.cluster.pool.held = held) : void(stage.cluster.pool.max_held = 1);
    stage.begin();
    Talker first(stage.client());
    Talker second(stage.client());
    begin_upload(stage, first, {}, 5);
    begin_upload(stage, second, {}, 5);
    EXPECT_EQ(stage.get()->status, 503);
    EXPECT_EQ(connections(stage), 2U);
    EXPECT_EQ(held->taken(), shared ? 1U : 0U);
    first.cancel();
    stage.run_until([&] { return connections(stage) == 1; });
    EXPECT_EQ(stage.get()->status, 503);  // It is the second that counts.
    EXPECT_EQ(held->taken(), 0U);
    second.cancel();
    stage.run_until([&] { return connections(stage) == 0; });
    EXPECT_EQ(stage.get()->status, 200);
  }
}

TEST(ProxiedRequestStall, TrapS3_AClientThatDoesNotReadTakesNoConnectionFromOthers) {
  Stage stage;
  add_backend(stage);
  stage.cluster.pool.max_connections = 1;
  stage.cluster.pool.max_waiting = 0;
  stage.begin();
  Talker slow(stage.client());
  slow.consumes = false;
  slow.open(stage.url, stage.make("GET", "/much"));
  stage.run_until([&] { return slow.answered; });
  stage.run_until([&] { return stage.backends.front().visits.front().unsent() > 0; });
  for (int i = 0; i < 10; ++i) {
    const auto answer = stage.get();
    if (answer->status == 200) break;  // Not before the windows are full.
    EXPECT_EQ(answer->status, 503);
    stage.run_for(50ms);
  }
  EXPECT_EQ(stage.get()->status, 200);
  EXPECT_EQ(connections(stage), 2U);
  slow.consumes = true;
  slow.consume(slow.received);
  stage.run_until([&] { return slow.whole; });
  EXPECT_EQ(slow.received, kMuch);
  stage.run_until([&] { return connections(stage) == 1; });
}

// Of a body with an announced length the last byte is its end.
TEST(ProxiedRequestStall, TrapS3_AnIncompleteRequestHasNoSlotOfTheAdmission) {
  for (const Length length : {Length{}, Length{10}}) {
    Stage stage;
    Backend& backend = add_backend(stage);
    stage.route.admission = one_at_a_time();
    stage.begin();
    Talker first(stage.client());
    Talker second(stage.client());
    begin_upload(stage, first, length, 9);
    begin_upload(stage, second, length, 9);
    EXPECT_EQ(stage.admission->admission().in_flight(), 0);
    EXPECT_EQ(stage.get()->status, 200);
    first.say("e", true);
    second.say("e", true);
    stage.run_until([&] { return first.whole && second.whole; });
    EXPECT_EQ(first.response.status, 200);
    EXPECT_EQ(second.response.status, 200);
    EXPECT_EQ(backend.visits.front().request.body, "xxxxxxxxxe");
    EXPECT_EQ(stage.admission->admission().in_flight(), 0);
  }
}

// While another one works the end waits in the queue, and is refused when its time is over.
TEST(ProxiedRequestStall, TheEndOfABodyIsAdmittedOrRefused) {
  for (const Length length : {Length{}, Length{10}}) {
    for (const bool refused : {false, true}) {
      Stage stage;
      Backend& backend = stage.add();
      stage.route.admission = one_at_a_time();
      if (!refused) stage.route.admission->longest_wait = 60s;
      stage.begin();
      Talker upload(stage.client());
      begin_upload(stage, upload, length, 9);
      Talker worker(stage.client());
      worker.open(stage.url, stage.make("GET", "/"));
      stage.run_until([&] { return backend.requests() == 2; });
      upload.say("e", true);
      if (refused) {
        stage.run_until([&] { return upload.answered; });
        EXPECT_EQ(upload.response.status, 503);
        EXPECT_EQ(stage.records.back().verdict, Verdict::shed);
      } else {
        stage.run_for(50ms);
        EXPECT_FALSE(backend.visits.front().whole);
        EXPECT_EQ(backend.visits.front().received, length ? 9U : 10U);
        backend.on_request = [](Visit& visit) { visit.respond(200, "done"); };
        backend.visits.back().respond(200);
        stage.run_until([&] { return upload.whole; });
        EXPECT_EQ(upload.response.body, "done");
      }
      EXPECT_EQ(backend.visits.front().whole, !refused);
      worker.cancel();
      stage.run_until([&] { return stage.sink->under_way() == 0; });
      EXPECT_EQ(stage.admission->admission().in_flight(), 0);
    }
  }
}

// As a stream in both directions does. The end is not withheld from it.
TEST(ProxiedRequestStall, AResponseBeforeTheEndNeedsNoAdmission) {
  Stage stage;
  Backend& backend = stage.add();
  backend.on_head = [](Visit& visit) { visit.send_head({.status = 200}); };
  backend.on_data = [](Visit& visit, std::string_view bytes) {
    visit.say("<" + std::string(bytes) + ">");
  };
  backend.on_request = [](Visit& visit) { visit.say("end", true); };
  stage.route.admission = one_at_a_time();
  stage.begin();
  Talker busy(stage.client());
  Talker talker(stage.client());
  begin_upload(stage, busy, {}, 1);
  begin_upload(stage, talker, {}, 1);
  stage.run_until([&] { return talker.received == 3; });
  talker.say("bye", true);
  stage.run_until([&] { return talker.whole; });
  EXPECT_EQ(talker.response.body, "<x><bye>end");
  busy.cancel();
}

TEST(ProxiedRequestStall, AnIncompleteRequestHasNoSlotOfTheConcurrencyLimit) {
  Stage stage;
  Backend& backend = add_backend(stage);
  stage.route.settings.policy.limit = {.kind = admit::LimitKind::fixed, .initial = 1};
  stage.begin();
  Talker first(stage.client());
  Talker second(stage.client());
  begin_upload(stage, first, 10, 9);
  begin_upload(stage, second, 10, 9);
  EXPECT_EQ(stage.get()->status, 200);
  // A complete one has it, and the end of another is refused.
  backend.on_request = {};
  first.say("e", true);
  stage.run_until([&] { return backend.visits.front().whole; });
  second.say("e", true);
  stage.run_until([&] { return second.answered; });
  EXPECT_EQ(second.response.status, 503);
  EXPECT_EQ(stage.records.back().verdict, Verdict::limited);
  backend.visits.front().respond(200, "late");
  stage.run_until([&] { return first.whole; });
  EXPECT_EQ(first.response.body, "late");
}

// A proxy behind this one answers 504, or 408, for an upload that stalls.
TEST(ProxiedRequestStall, TrapL5_AProxyBehindThatWaitedInVainIsNotBlamed) {
  for (const int status : {504, 408}) {
    for (const bool complete : {false, true}) {
      Stage stage;
      Backend& backend = stage.add([&](Visit& visit) { visit.respond(status); });
      stage.route.settings.policy.call.max_attempts = 1;
      stage.route.settings.policy.breaker = {.consecutive_failures = 1};
      stage.begin();
      Talker talker(stage.client());
      begin_upload(stage, talker, 10, 9);
      complete ? talker.say("e", true) : backend.visits.front().respond(status);
      stage.run_until([&] { return talker.answered; });
      EXPECT_EQ(talker.response.status, status);
      EXPECT_EQ(stage.shared->dependency().breaker().state(stage.loop.now()),
                complete ? admit::BreakerState::open : admit::BreakerState::closed);
    }
  }
}

TEST(ProxiedRequestStall, AnUploadThatStallsUntilTheDeadlineIsA408) {
  Stage stage;
  add_backend(stage);
  stage.route.settings.policy.call.timeout = 100ms;
  stage.begin();
  Talker talker(stage.client());
  begin_upload(stage, talker, 10, 9);
  stage.run_until([&] { return talker.answered; });
  EXPECT_EQ(talker.response.status, 408);
  EXPECT_EQ(stage.record().verdict, Verdict::deadline_passed);
}

TEST(ProxiedRequestStall, ACompleteUploadIsNeverA408) {
  Stage stage;
  Backend& backend = stage.add();
  stage.cluster.pool.max_connections = 1;
  stage.route.settings.policy.call.timeout = 300ms;
  stage.begin();
  Talker upload(stage.client());
  upload.length = 2;
  upload.open(stage.url, stage.make("PUT", "/"), false);
  upload.say("a");
  stage.run_until([&] { return backend.requests() == 1 && backend.visits.front().received == 1; });
  Talker other(stage.client());  // It has the only connection, which the retry waits for.
  other.open(stage.url, stage.make("GET", "/"));
  stage.run_until([&] { return backend.requests() == 2; });
  backend.visits.front().cancel();
  upload.say("b", true);
  stage.run_until([&] { return upload.answered; });
  EXPECT_EQ(upload.response.status, 504);
  stage.run_until([&] { return other.answered; });
}

// A replica may close a connection on which the rest of a request does not arrive.
TEST(ProxiedRequestStall, TrapL5_AReplicaThatWaitedInVainIsNotBlamed) {
  for (const bool complete : {false, true}) {
    Stage stage;
    Backend& backend = stage.add([](Visit& visit) { visit.cancel(); });
    stage.route.settings.policy.call.max_attempts = 1;
    stage.route.settings.policy.breaker = {.consecutive_failures = 1};
    stage.begin();
    Talker talker(stage.client());
    begin_upload(stage, talker, 10, 9);
    complete ? talker.say("e", true) : backend.visits.front().cancel();
    stage.run_until([&] { return talker.answered; });
    EXPECT_EQ(talker.response.status, 502);
    EXPECT_EQ(stage.shared->dependency().breaker().state(stage.loop.now()),
              complete ? admit::BreakerState::open : admit::BreakerState::closed);
  }
}

// The same for a response that the client does not read.
TEST(ProxiedRequestStall, TrapL5_AReplicaThatGaveUpASlowReaderIsNotBlamed) {
  for (const bool reads : {false, true}) {
    Stage stage;
    Backend& backend = stage.add();
    backend.on_request = [](Visit& visit) {
      visit.send_head({.status = 200, .content_length = 2 * kMuch});
      visit.say(std::string(kMuch, 'x'));
    };
    add_backend(stage);
    stage.cluster.endpoints.pop_back();
    stage.cluster.endpoints.push_back("http://127.0.0.1:1");  // A single one is not ejected.
    stage.cluster.replicas.breaker = {.consecutive_failures = 1};
    stage.begin();
    Talker talker(stage.client());
    talker.consumes = reads;
    for (int i = 0; i < 10 && backend.requests() == 0; ++i) {
      talker.open(stage.url, stage.make("GET", "/"));
      stage.run_until([&] { return talker.answered; });
    }
    stage.run_until([&] { return reads ? talker.received == kMuch : talker.received > 0; });
    if (!reads) stage.run_for(100ms);  // Until the windows are full.
    backend.visits.front().cancel();
    if (!reads) {
      talker.consumes = true;
      talker.consume(talker.received);
    }
    stage.run_until([&] { return talker.closed.has_value(); });
    ClusterState state;
    stage.upstream->describe(state, stage.loop.now());
    EXPECT_EQ(state.replicas.front().ejected_on, reads ? 1U : 0U);
  }
}

// A request that takes its slot shortly before its time is over says nothing about the service.
TEST(ProxiedRequestStall, TrapL5_AnUploadThatEndsLateDoesNotLowerTheAdmissionsLimit) {
  for (const bool late : {true, false}) {
    Stage stage;
    stage.add();  // It never answers.
    stage.route.settings.policy.call.timeout = 300ms;
    stage.route.settings.policy.call.max_attempts = 1;
    stage.route.admission = http::AdmissionOptions{
        .limit = {.kind = admit::LimitKind::aimd, .initial = 60, .window_samples = 1}};
    stage.begin();
    Talker talker(stage.client());
    talker.length = 10;
    begin_upload(stage, talker, 10, 9);
    if (late) stage.run_for(200ms);
    talker.say("e", true);
    stage.run_until([&] { return talker.answered; });
    EXPECT_EQ(talker.response.status, 504);
    if (late) {
      EXPECT_EQ(stage.admission->admission().limit(), 60);
    } else {
      EXPECT_LT(stage.admission->admission().limit(), 60);
    }
  }
}

// Uploads that stall are drawn as probes; they are none.
TEST(ProxiedRequestStall, AnUploadThatStallsKeepsNoReplicaOut) {
  Stage stage;
  stage.route.settings.policy.call.max_attempts = 1;
  stage.cluster.replicas.breaker = {.consecutive_failures = 1,
                                    .open_base = 1ms,
                                    .open_cap = 1ms,
                                    .probes = 1,
                                    .probe_lease = 1h,
                                    .ramp = 0ms};
  bool fails = true;
  for (int i = 0; i < 2; ++i) {
    stage.add([&](Visit& visit) { visit.respond(fails ? 503 : 200, "ok"); });
  }
  stage.begin();
  (void)stage.get();  // One of them is ejected.
  fails = false;
  stage.run_for(5ms);
  std::list<Talker> stalled;
  const auto arrived = [&] {
    return stage.backends.front().requests() + stage.backends.back().requests();
  };
  for (int i = 0; i < 20; ++i) {  // One in two is a probe.
    const std::size_t before = arrived();
    stalled.emplace_back(stage.client()).open(stage.url, stage.make("POST", "/"), false);
    stalled.back().say("x");
    stage.run_until([&] { return arrived() == before + 1; });
  }
  for (int i = 0; i < 50; ++i) EXPECT_EQ(stage.get()->status, 200);
  ClusterState state;
  stage.upstream->describe(state, stage.loop.now());
  for (const auto& replica : state.replicas) EXPECT_EQ(replica.ejected_on, 0U);
  // Both are used again.
  EXPECT_GT(stage.backends.front().requests(), 10U);
  EXPECT_GT(stage.backends.back().requests(), 10U);
}

}  // namespace
}  // namespace damper::proxy
