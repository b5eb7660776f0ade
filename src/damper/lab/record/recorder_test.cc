#include "damper/lab/record/recorder.h"

#include <gtest/gtest.h>

#include "damper/lab/world/world_testing.h"

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

// Levels that say how often they were read.
class Counted final : public GaugeSource {
 public:
  void read(std::size_t, ServiceTick& tick) override { tick.queued += ++services_read; }
  void read(std::size_t, Instant now, ClientsTick& tick) override {
    tick.in_flight += 1;
    last = now;
  }
  void read(std::size_t, Instant, ControllersTick& tick) override { tick.waiting += 1; }
  std::uint32_t services_read = 0;
  Instant last{};
};

Scenario of_length(Duration length) {
  Scenario scenario = world_of({service("db")}, {poisson(1)});
  scenario.length = length;
  return scenario;
}

TEST(Recorder, CountsInTheBucketOfNow) {
  Counted gauges;
  Recorder recorder(of_length(1s), 7, false, gauges);
  recorder.advance(Instant{});
  recorder.on_request(0, false);
  recorder.advance(Instant{99'999'999ns});
  recorder.on_request(0, true);
  recorder.on_attempt(0, true);
  recorder.advance(Instant{100ms});  // The first of the next.
  recorder.on_attempt(0, false);
  recorder.advance(Instant{950ms});
  recorder.on_over(0, Verdict::success, Instant{});
  recorder.on_over(0, Verdict::overload, Instant{});
  const Record record = recorder.finish(Instant{1s});
  EXPECT_EQ(record.title, "test");
  EXPECT_EQ(record.seed, 7u);
  EXPECT_EQ(record.length, 1s);
  EXPECT_EQ(record.bucket, 100ms);
  const ClientsRecord& clients = record.clients[0];
  EXPECT_EQ(clients.name, "users");
  ASSERT_EQ(clients.ticks.size(), 10u);
  EXPECT_EQ(clients.ticks[0].requests, 2u);
  EXPECT_EQ(clients.ticks[0].attempts, 1u);
  EXPECT_EQ(clients.ticks[1].attempts, 1u);
  EXPECT_EQ(clients.ticks[9].succeeded, 1u);
  EXPECT_EQ(clients.ticks[9].failed, 1u);
  EXPECT_EQ(clients.requests, 2u);
  EXPECT_EQ(clients.requests_in_fault, 1u);
  EXPECT_EQ(clients.attempts, 2u);
  EXPECT_EQ(clients.attempts_in_fault, 1u);
  EXPECT_EQ(clients.succeeded, 1u);
  EXPECT_EQ(clients.failed, 1u);
  EXPECT_EQ(clients.unfinished, 0u);
  EXPECT_EQ(clients.verdicts[static_cast<std::size_t>(Verdict::success)], 1u);
  EXPECT_EQ(clients.verdicts[static_cast<std::size_t>(Verdict::overload)], 1u);
  EXPECT_EQ(clients.latency.count(), 1);
  EXPECT_EQ(clients.latency.max(), 950ms);
  EXPECT_EQ(record.last_end, 950ms);
}

TEST(Recorder, TellsFirstTriesRetriesAndHedgesApart) {
  Counted gauges;
  Recorder recorder(of_length(1s), 1, false, gauges);
  recorder.on_arrival(0, true, false);
  recorder.on_arrival(0, false, false);
  recorder.on_arrival(0, false, false);
  recorder.on_arrival(0, false, true);
  recorder.on_served(0);
  recorder.on_good(0, Instant{});
  recorder.on_refused(0);
  recorder.on_failed(0);
  const Record record = recorder.finish(Instant{1s});
  const ServiceRecord& service = record.services[0];
  EXPECT_EQ(service.attempts, 4u);
  EXPECT_EQ(service.first_tries, 1u);
  EXPECT_EQ(service.hedges, 1u);
  EXPECT_EQ(service.served, 1u);
  EXPECT_EQ(service.good, 1u);
  EXPECT_EQ(service.refused, 1u);
  const ServiceTick& tick = service.ticks[0];
  EXPECT_EQ(tick.first_tries, 1u);
  EXPECT_EQ(tick.retries, 2u);
  EXPECT_EQ(tick.hedges, 1u);
  EXPECT_EQ(tick.served, 1u);
  EXPECT_EQ(tick.good, 1u);
  EXPECT_EQ(tick.refused, 1u);
  EXPECT_EQ(tick.failed, 1u);
}

TEST(Recorder, ReadsTheLevelsOnceAtTheEndOfEachBucket) {
  Counted gauges;
  Recorder recorder(of_length(1s), 1, false, gauges);
  recorder.advance(Instant{350ms});  // Three buckets are over at once.
  EXPECT_EQ(gauges.services_read, 3u);
  EXPECT_EQ(gauges.last, Instant{300ms});
  recorder.advance(Instant{400ms});
  EXPECT_EQ(gauges.services_read, 4u);
  recorder.advance(Instant{1s});
  recorder.on_request(0, false);  // What happens at the very end counts in the last.
  const Record record = recorder.finish(Instant{1s});
  EXPECT_EQ(gauges.services_read, 10u);
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(record.services[0].ticks[i].queued, i + 1);
    EXPECT_EQ(record.clients[0].ticks[i].in_flight, 1u);
  }
  EXPECT_EQ(record.clients[0].ticks[9].requests, 1u);
  EXPECT_EQ(record.clients[0].unfinished, 1u);
}

TEST(Recorder, TheLastBucketHasItsLevelsThoughItIsNotFull) {
  Counted gauges;
  Recorder recorder(of_length(250ms), 1, false, gauges);
  recorder.advance(Instant{240ms});
  const Record record = recorder.finish(Instant{250ms});
  ASSERT_EQ(record.services[0].ticks.size(), 3u);
  EXPECT_EQ(record.services[0].ticks[2].queued, 3u);
  EXPECT_EQ(gauges.last, Instant{250ms});
}

TEST(Recorder, ARunThatIsCutHasLevelsUpToThere) {
  Counted gauges;
  Recorder recorder(of_length(1s), 1, false, gauges);
  const Record record = recorder.finish(Instant{120ms});
  EXPECT_EQ(record.services[0].ticks[1].queued, 2u);
  EXPECT_EQ(record.services[0].ticks[2].queued, 0u);
  EXPECT_EQ(gauges.last, Instant{120ms});
}

TEST(Recorder, CountsWhatControllersDo) {
  Counted gauges;
  Scenario scenario = of_length(1s);
  ControllersSpec spec;
  spec.name = "pods";
  scenario.controllers = {spec};
  Recorder recorder(scenario, 1, false, gauges);
  recorder.advance(Instant{50ms});
  recorder.on_event(0, false);
  recorder.on_event(0, true);
  recorder.on_run(0, false, false, 2ms);
  recorder.advance(Instant{150ms});
  recorder.on_run(0, true, true, std::nullopt);
  recorder.on_run_over(0, true, 7ms);
  recorder.on_run_over(0, false, std::nullopt);
  const Record record = recorder.finish(Instant{1s});
  const ControllersRecord& all = record.controllers[0];
  EXPECT_EQ(all.name, "pods");
  EXPECT_EQ(all.events, 2u);
  EXPECT_EQ(all.events_in_fault, 1u);
  EXPECT_EQ(all.runs, 2u);
  EXPECT_EQ(all.runs_in_fault, 1u);
  EXPECT_EQ(all.retries, 1u);
  EXPECT_EQ(all.succeeded, 1u);
  EXPECT_EQ(all.failed, 1u);
  EXPECT_EQ(all.queued.count(), 1);
  EXPECT_EQ(all.settled.count(), 1);
  EXPECT_EQ(all.ticks[0].events, 2u);
  EXPECT_EQ(all.ticks[0].runs, 1u);
  EXPECT_EQ(all.ticks[1].retries, 1u);
  EXPECT_EQ(all.ticks[1].succeeded, 1u);
  EXPECT_EQ(all.ticks[1].failed, 1u);
  EXPECT_EQ(all.ticks[9].waiting, 1u);
}

TEST(Recorder, LatenciesOverTimeAreKeptByTheEndOfTheRequest) {
  Counted gauges;
  Recorder recorder(of_length(25s), 1, true, gauges);
  recorder.advance(Instant{300ms});
  recorder.on_over(0, Verdict::success, Instant{});
  recorder.advance(Instant{25s});
  recorder.on_over(0, Verdict::success, Instant{});
  const Record record = recorder.finish(Instant{25s});
  EXPECT_EQ(record.latency_bucket, 200ms);  // 250 buckets, two by two.
  const auto& ticks = record.clients[0].latency_ticks;
  ASSERT_EQ(ticks.size(), 125u);
  EXPECT_EQ(ticks[1].count(), 1);
  EXPECT_EQ(ticks[124].count(), 1);
  Recorder without(of_length(25s), 1, false, gauges);
  EXPECT_TRUE(without.finish(Instant{25s}).clients[0].latency_ticks.empty());
}

TEST(Recorder, AShortRunHasALatencyBucketForEachBucket) {
  Counted gauges;
  Recorder recorder(of_length(1s), 1, true, gauges);
  EXPECT_EQ(recorder.record().latency_bucket, 100ms);
  EXPECT_EQ(recorder.finish(Instant{1s}).clients[0].latency_ticks.size(), 10u);
}

}  // namespace
}  // namespace damper::lab
