#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/bounds.h"
#include "damper/base/instant.h"
#include "damper/observe/exposition.h"
#include "damper/observe/trace/tracer.h"

namespace damper::http {

struct TraceExporterOptions {
  static constexpr Range<Duration> kTimeout{std::chrono::milliseconds(10), std::chrono::minutes(1)};
  static constexpr Range<Duration> kInterval{std::chrono::milliseconds(10),
                                             std::chrono::minutes(1)};
  static constexpr Range<std::size_t> kBatch{1, 10'000};
  static constexpr Range<std::size_t> kQueue{16, 1'000'000};

  // Of the collector; without a path: /v1/traces.
  std::string collector = "http://127.0.0.1:4318";
  std::string service_name = "damper";          // printable ASCII, 1 to 256 bytes
  Duration timeout = std::chrono::seconds(10);  // of an export with all its attempts
  Duration interval = std::chrono::seconds(1);  // between exports of less than a batch
  std::size_t max_batch = 512;                  // spans of one request
  std::size_t queue = 2048;                     // spans that wait, of all lanes together
  std::string ca_file{};                        // trusted CAs, for https; empty: the system's
  observe::TracerOptions tracer{};

  friend bool operator==(const TraceExporterOptions&, const TraceExporterOptions&) = default;
};

// Reads no file: see find_ca_error().
[[nodiscard]] std::optional<std::string> find_error(const TraceExporterOptions& options);
// One sentence: ca_file, or the system's CAs, cannot be used for the collector.
[[nodiscard]] std::optional<std::string> find_ca_error(const TraceExporterOptions& options);

// The totals of one exporter, or of several.
struct TraceCounts {
  std::uint64_t exported = 0;       // spans that the collector accepted
  std::uint64_t queue_full = 0;     // dropped, by reason: no room in the queue
  std::uint64_t export_failed = 0;  // the collector refused them or did not answer
  std::uint64_t rejected = 0;       // by partial_success of the collector's answer
  std::uint64_t shutdown = 0;       // not exported in time at the end
  std::uint64_t failed_exports = 0;
  std::uint64_t queued = 0;  // at present

  void add(const TraceCounts& other) noexcept;
};

//   damper_trace_spans_exported_total, damper_trace_spans_dropped_total{reason}
//   damper_trace_queued_spans, damper_trace_export_failures_total
void write_trace_metrics(const TraceCounts& counts, observe::Exposition& out);

// A TraceExporter sends spans to an OpenTelemetry collector: OTLP over HTTP, as protobuf.
//
//   TraceExporter exporter({.collector = "http://127.0.0.1:4318", .service_name = "shop"});
//   const std::unique_ptr<observe::Tracer> tracer = exporter.make_tracer();   // one for each loop
//
// Why: a span must never delay the request that it describes. Producers append to a bounded lane;
// everything else happens on the exporter's thread.
// Model: a loop on a thread of its own takes the spans of all lanes every `interval`, or when a
// lane is half full, and posts them in batches, one request at a time, with a GuardedClient: up to
// three attempts within `timeout`; Retry-After is honoured. Spans of an export that failed are
// dropped. The next export waits then: for Retry-After, else twice as long as before with jitter,
// up to kLongestWait; meanwhile the lanes fill up, and drop. Its own requests are not traced.
// Invariants:
//   (1) At most `queue` spans wait in lanes, and as many are being exported; an answer is read up
//       to kMostAnswer bytes.
//   (2) Each span that was added is exported, or counted in one of the reasons.
// Lifetime: it may be destroyed before its tracers; their spans are dropped then.
// Thread safety: all methods may be called concurrently.
class TraceExporter {
 public:
  static constexpr std::size_t kMostAnswer = std::size_t{64} * 1024;
  static constexpr Duration kLongestWait = std::chrono::seconds(30);
  static constexpr Duration kLongestRetryAfter = std::chrono::minutes(5);

  // `lanes`: how many tracers share the queue and the rate of failures. REQUIRES:
  // !find_error(options), !find_ca_error(options).
  explicit TraceExporter(const TraceExporterOptions& options, std::size_t lanes = 1);
  ~TraceExporter();  // drops what is left; call drain() first

  [[nodiscard]] std::unique_ptr<observe::Tracer> make_tracer();
  // Exports what is left. Returns when that is done, or after `within`. Spans that are added later
  // are dropped.
  void drain(Duration within);
  // The same without a wait: `done` is called on the exporter's thread when all is exported; not if
  // the exporter is destroyed first.
  void drain(std::function<void()> done);

  [[nodiscard]] TraceCounts counts() const;
  [[nodiscard]] const TraceExporterOptions& options() const noexcept { return options_; }

 private:
  class Sender;

  const TraceExporterOptions options_;
  const std::size_t lanes_;
  std::unique_ptr<Sender> sender_;
};

}  // namespace damper::http
