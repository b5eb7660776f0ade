// TraceExporter, against collectors on real sockets.
#include "damper/http/trace/trace_exporter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "damper/http/client/client_testing.h"
#include "damper/http/net/net_testing.h"
#include "damper/run/clock.h"

namespace damper::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Exchange = TestServer::Exchange;
using namespace std::string_literals;

observe::Span span_of(const observe::SpanContext& context) {
  observe::Span span;
  span.context = context;
  span.name = "GET";
  return span;
}

TraceExporterOptions options(const std::string& url) {
  TraceExporterOptions options;
  options.collector = url;
  options.interval = milliseconds(10);
  options.tracer.sampling = Percent(100);
  return options;
}

void add_spans(observe::Tracer& tracer, int count) {
  for (int i = 0; i < count; ++i) tracer.add(span_of(tracer.begin({})));
}

// Turns of the test's loop, which the collector is on, until it is so.
void run_until(Loop& loop, const std::function<bool()>& reached) {
  const Instant end = add(run::now(), seconds(60));
  while (!reached() && run::now() < end) {
    loop.poll();
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_TRUE(reached());
}

TEST(TraceExporter, PostsBatchesOfProtobuf) {
  Loop loop;
  TestServer collector(loop, [](Exchange& exchange) { exchange.respond(200); });
  TraceExporterOptions small = options(collector.url());
  small.max_batch = 3;
  TraceExporter exporter(small);
  const auto tracer = exporter.make_tracer();
  add_spans(*tracer, 7);
  run_until(loop, [&] { return exporter.counts().exported == 7; });
  EXPECT_GE(collector.requests, 3);  // 3 + 3 + 1, or more if the timer was quick.
  const Request& first = collector.exchanges.front().request;
  EXPECT_EQ(first.method, "POST");
  EXPECT_EQ(first.target, "/v1/traces");
  EXPECT_EQ(first.fields.find("content-type"), "application/x-protobuf");
  EXPECT_FALSE(first.fields.find("traceparent"));  // Its own requests are not traced.
  EXPECT_EQ(exporter.counts().queued, 0U);
}

TEST(TraceExporter, APathOfTheUrlIsUsed) {
  Loop loop;
  TestServer collector(loop, [](Exchange& exchange) { exchange.respond(200); });
  TraceExporter exporter(options(collector.url() + "/otlp/x"));
  const auto tracer = exporter.make_tracer();
  add_spans(*tracer, 1);
  run_until(loop, [&] { return exporter.counts().exported == 1; });
  EXPECT_EQ(collector.exchanges.front().request.target, "/otlp/x");
}

TEST(TraceExporter, ACollectorWithAPrivateCaIsTrustedByItsFileAlone) {
  const TestCertificate made = make_certificate("collector.test");
  TlsServerOptions server;
  server.identity.certificate_pem = made.certificate_pem;
  server.identity.key_pem = made.key_pem;
  const TlsSettings settings = *TlsSettings::for_server(server);
  Loop loop;
  TestServer collector(loop, {.tls = &settings}, [](Exchange& exchange) { exchange.respond(200); });
  TraceExporterOptions with = options(collector.url());
  with.timeout = seconds(1);
  TraceExporter without(with);
  with.ca_file = testing::TempDir() + "trace_exporter_ca";
  std::ofstream(with.ca_file) << made.certificate_pem;
  TraceExporter exporter(with);
  add_spans(*without.make_tracer(), 1);
  add_spans(*exporter.make_tracer(), 1);
  run_until(loop,
            [&] { return exporter.counts().exported == 1 && without.counts().export_failed == 1; });
  EXPECT_EQ(collector.requests, 1);
  with.ca_file = "/nowhere/ca.pem";
  EXPECT_EQ(find_ca_error(with).value_or("").substr(0, 41),
            "tls: ca_file /nowhere/ca.pem cannot be re");
  with.collector = "http://127.0.0.1:4318";
  EXPECT_EQ(find_ca_error(with), std::nullopt);
}

TEST(TraceExporter, SpansThatTheCollectorRejectsAreCounted) {
  Loop loop;
  TestServer collector(loop,
                       [](Exchange& exchange) { exchange.respond(200, "\x0a\x02\x08\x02"s); });
  TraceExporter exporter(options(collector.url()));
  const auto tracer = exporter.make_tracer();
  add_spans(*tracer, 1);
  run_until(loop, [&] { return exporter.counts().rejected == 1; });  // No more than were sent.
  EXPECT_EQ(exporter.counts().exported, 0U);
}

TEST(TraceExporter, AnExportIsRepeatedAndThenDropped) {
  Loop loop;
  int failures = 1;
  TestServer collector(loop, [&](Exchange& exchange) {
    exchange.respond(failures-- > 0 ? 503 : 200, {}, FieldList{{"retry-after", "0"}});
  });
  TraceExporter exporter(options(collector.url()));
  const auto tracer = exporter.make_tracer();
  add_spans(*tracer, 2);
  run_until(loop, [&] { return exporter.counts().exported == 2; });
  EXPECT_EQ(collector.requests, 2);
  EXPECT_EQ(exporter.counts().failed_exports, 0U);
}

TEST(TraceExporter, WhatTheCollectorRefusesIsDropped) {
  Loop loop;
  TestServer collector(loop, [](Exchange& exchange) { exchange.respond(400, "no"); });
  TraceExporter exporter(options(collector.url()));
  const auto tracer = exporter.make_tracer();
  add_spans(*tracer, 2);
  run_until(loop, [&] { return exporter.counts().export_failed == 2; });
  EXPECT_EQ(collector.requests, 1);  // 400 is final.
  EXPECT_EQ(exporter.counts().failed_exports, 1U);
}

TEST(TraceExporter, AnAnswerWithoutEndIsDropped) {
  Loop loop;
  TestServer collector(loop, [](Exchange& exchange) {
    exchange.respond(200, std::string(TraceExporter::kMostAnswer + 1, 'x'));
  });
  TraceExporter exporter(options(collector.url()));
  const auto tracer = exporter.make_tracer();
  add_spans(*tracer, 2);
  run_until(loop, [&] { return exporter.counts().export_failed == 2; });
}

TEST(TraceExporter, ACollectorThatNeverAnswersFillsTheQueueAlone) {
  Loop loop;
  TestServer collector(loop, [](Exchange&) {});
  TraceExporterOptions bounded = options(collector.url());
  bounded.queue = 16;
  TraceExporter exporter(bounded);
  const auto tracer = exporter.make_tracer();
  add_spans(*tracer, 1);
  run_until(loop, [&] { return collector.requests == 1; });
  add_spans(*tracer, 100);
  EXPECT_EQ(exporter.counts().queue_full, 84U);
  EXPECT_EQ(exporter.counts().queued, 17U);  // 16, and the one under way.
  exporter.drain(milliseconds(10));          // It returns in time.
  EXPECT_EQ(exporter.counts().shutdown, 17U);
}

TEST(TraceExporter, ADrainExportsWhatIsLeft) {
  Loop loop;
  TestServer collector(loop, [](Exchange& exchange) { exchange.respond(200); });
  TraceExporterOptions slow = options(collector.url());
  slow.interval = seconds(60);
  TraceExporter exporter(slow);
  const auto tracer = exporter.make_tracer();
  add_spans(*tracer, 5);
  std::thread drainer([&] { exporter.drain(seconds(60)); });
  run_until(loop, [&] { return exporter.counts().exported == 5; });
  drainer.join();
  add_spans(*tracer, 1);
  EXPECT_EQ(exporter.counts().queue_full, 1U);  // It is closed.
}

TEST(TraceExporter, ADrainThatDoesNotWaitCallsWhenAllIsExported) {
  Loop loop;
  TestServer collector(loop, [](Exchange& exchange) { exchange.respond(200); });
  TraceExporterOptions slow = options(collector.url());
  slow.interval = seconds(60);
  TraceExporter exporter(slow);
  const auto tracer = exporter.make_tracer();
  add_spans(*tracer, 5);
  std::atomic<bool> done = false;
  exporter.drain([&] { done = true; });
  run_until(loop, [&] { return done.load(); });
  EXPECT_EQ(exporter.counts().exported, 5U);
}

TEST(TraceExporter, ADrainThatDoesNotWaitEndsWithTheExporter) {
  Loop loop;
  TestServer collector(loop, [](Exchange&) {});
  bool done = false;
  {
    TraceExporter exporter(options(collector.url()));
    add_spans(*exporter.make_tracer(), 1);
    exporter.drain([&] { done = true; });
    run_until(loop, [&] { return collector.requests == 1; });
  }
  EXPECT_FALSE(done);
}

TEST(TraceExporter, WithoutACollectorSpansAreDroppedAndTracersOutliveIt) {
  TraceExporterOptions away = options("http://127.0.0.1:1");
  away.timeout = milliseconds(50);
  std::unique_ptr<observe::Tracer> tracer;
  {
    TraceExporter exporter(away);
    tracer = exporter.make_tracer();
    add_spans(*tracer, 3);
    const Instant end = add(run::now(), seconds(60));
    while (exporter.counts().export_failed < 3 && run::now() < end) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_EQ(exporter.counts().export_failed, 3U);
  }
  add_spans(*tracer, 1);
}

TEST(TraceExporter, FindsErrors) {
  EXPECT_EQ(find_error(TraceExporterOptions{}), std::nullopt);
  TraceExporterOptions bad;
  bad.collector = "collector:4318";
  EXPECT_TRUE(find_error(bad));
  bad = {};
  bad.service_name = "caf\xc3\xa9";
  EXPECT_EQ(find_error(bad), "service_name must have 1 to 256 printable ASCII characters");
  bad = {};
  bad.queue = 3;
  EXPECT_TRUE(find_error(bad));
}

}  // namespace
}  // namespace damper::http
