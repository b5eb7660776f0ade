#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/lab/record/record.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::lab {

// A GaugeSource fills in the levels at the end of each bucket.
class GaugeSource {
 public:
  virtual void read(std::size_t service, ServiceTick& tick) = 0;
  virtual void read(std::size_t clients, Instant now, ClientsTick& tick) = 0;
  virtual void read(std::size_t controllers, Instant now, ControllersTick& tick) = 0;

 protected:
  ~GaugeSource() = default;
};

// A Recorder fills the Record of a run: counts as they happen, levels at the end of each bucket.
//
// Thread safety: none. Cost: no allocation after construction, except for new latency buckets.
class Recorder {
 public:
  Recorder(const Scenario& scenario, std::uint64_t seed, bool latency_over_time,
           GaugeSource& gauges);

  // Advances to `now`, and reads the levels of buckets that are over. Call before each event.
  void advance(Instant now) {
    while (now >= bucket_end_) close_bucket();
    now_ = now;
  }

  void on_arrival(std::size_t service, bool first, bool hedge);
  void on_served(std::size_t service);
  // The answer was wanted. It counts in the bucket in which it was `served`, as one of those.
  void on_good(std::size_t service, Instant served);
  void on_refused(std::size_t service);
  void on_failed(std::size_t service);

  void on_request(std::size_t clients, bool in_fault);
  void on_attempt(std::size_t clients, bool in_fault);
  void on_over(std::size_t clients, Verdict verdict, Instant started);

  void on_event(std::size_t controllers, bool in_fault);
  // A controller starts a run; `queued` is empty for a broken key.
  void on_run(std::size_t controllers, bool retry, bool in_fault, std::optional<Duration> queued);
  void on_run_over(std::size_t controllers, bool succeeded, std::optional<Duration> settled);

  // Ends the run, perhaps early; requests in flight are unfinished. Call once.
  [[nodiscard]] Record finish(Instant end);
  [[nodiscard]] Record& record() noexcept { return record_; }

 private:
  void read_gauges(Instant now);
  void close_bucket();
  [[nodiscard]] ServiceTick& tick_of(ServiceRecord& service) { return service.ticks[at_]; }
  [[nodiscard]] ControllersTick& tick_of(ControllersRecord& all) { return all.ticks[at_]; }
  [[nodiscard]] ClientsTick& tick_of(ClientsRecord& clients) { return clients.ticks[at_]; }

  Record record_;
  GaugeSource& gauges_;
  Instant now_{};
  Instant bucket_end_;
  std::size_t at_ = 0;  // the bucket
};

}  // namespace damper::lab
