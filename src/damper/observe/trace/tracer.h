#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "damper/admit/token_bucket.h"
#include "damper/base/bounds.h"
#include "damper/base/instant.h"
#include "damper/base/percent.h"
#include "damper/base/random.h"
#include "damper/observe/trace/otlp.h"
#include "damper/observe/trace/span.h"
#include "damper/observe/trace/span_context.h"

namespace damper::observe {

// A Sampler keeps a share of the traces.
//
// Model: by the low 8 bytes of the trace's id, as TraceIdRatioBased of the OpenTelemetry SDKs: two
// services with one ratio keep the same traces.
// Thread safety: immutable.
class Sampler {
 public:
  // REQUIRES: at most 100 %.
  explicit Sampler(Percent share) noexcept
      : bound_(kAll / Percent::kDenominator * static_cast<std::uint64_t>(share.hundredths())),
        all_(share.hundredths() >= Percent::kDenominator) {}
  [[nodiscard]] bool keeps(const TraceId& id) const noexcept {
    return all_ || id.low >> 1U < bound_;
  }

 private:
  static constexpr std::uint64_t kAll = std::uint64_t{1} << 63U;
  std::uint64_t bound_;
  bool all_;
};

// A SpanLane hands encoded spans over from one producer, such as an event loop, to the exporter.
//
// Why: each producer has its own, so that its lock is free but for the moment in which the exporter
// takes the spans.
// Model: a bounded buffer of spans; one that does not fit is dropped and counted. `reader` is told
// once when the buffer is half full; take() empties it.
// Invariants:
//   (1) At most `most` spans of kBytesOfSpan bytes on average are held.
//   (2) Every span is taken or counted in dropped().
// Thread safety: all methods may be called concurrently.
// Cost: add() encodes a span, about 2 us; no allocation once the buffer has its size.
class SpanLane {
 public:
  class Reader {
   public:
    // A lane is half full; called on the producer's thread, under the lane's lock.
    virtual void on_lane_filling() noexcept = 0;

   protected:
    ~Reader() = default;
  };
  static constexpr std::size_t kBytesOfSpan = 1024;

  // The reader outlives the lane, or calls close().
  SpanLane(std::size_t most, Reader& reader) : most_(most), reader_(&reader) {}

  void add(const Span& span) {
    const std::lock_guard lock(mutex_);
    if (reader_ == nullptr || spans_ >= most_ || bytes_.size() >= most_ * kBytesOfSpan) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    append_span(bytes_, span);
    if (++spans_ >= most_ / 2 && !announced_) {
      announced_ = true;
      reader_->on_lane_filling();
    }
  }
  // Appends the spans to `into`, and returns their number.
  std::size_t take(std::string& into) {
    const std::lock_guard lock(mutex_);
    into += bytes_;
    bytes_.clear();
    announced_ = false;
    return std::exchange(spans_, 0);
  }
  // Spans are dropped from now on.
  void close() {
    const std::lock_guard lock(mutex_);
    reader_ = nullptr;
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return spans_;
  }
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;
  Reader* reader_;
  std::string bytes_;
  std::size_t spans_ = 0;
  bool announced_ = false;
  std::atomic<std::uint64_t> dropped_{0};
};

// Which traces are exported.
struct TracerOptions {
  static constexpr Range<Percent> kSampling{Percent(0), Percent(100)};
  static constexpr Range<std::int32_t> kFailures{0, 100'000};

  Percent sampling{1};
  // Requests that failed and are not sampled: exported up to this number a second. 0: none. Beside
  // them a tenth of it, at least one, of those that failed by their client's doing.
  std::int32_t failures_per_second = 100;

  friend bool operator==(const TracerOptions&, const TracerOptions&) = default;
};

// How an operation ended, for the choice of those that are exported.
enum class Ending : std::uint8_t {
  good,
  refused,  // It failed by its client's doing: no route, over a limit, or cancelled.
  failed,
};

// A Tracer gives spans their ids, decides which are exported, and passes them to its lane.
//
// Model: a span of a trusted caller's trace is sampled if the caller says so; a new trace by the
// Sampler. What is not sampled may be exported all the same at its end, if it failed: within a rate
// (the spans of other processes of that trace are missing then). What clients can cause at will has
// a smaller rate of its own, so that they cannot use up that of the failures. The ids are of a
// random stream of their own: they are public, and must tell nothing of the draws that jitter and
// choices use.
// Thread safety: none; one for each loop or thread.
// Cost: no allocation, but for the lane's buffer.
class Tracer {
 public:
  Tracer(std::shared_ptr<SpanLane> lane, const TracerOptions& options, std::uint64_t seed)
      : lane_(std::move(lane)),
        sampler_(options.sampling),
        ids_(seed),
        exports_failures_(options.failures_per_second > 0),
        failures_(bucket(options.failures_per_second)),
        refusals_(bucket(options.failures_per_second / 10)) {}

  // A span below `parent`; of a new trace if that is none.
  [[nodiscard]] SpanContext begin(const SpanContext& parent) noexcept {
    SpanContext context = parent;
    if (!parent) {
      context.trace = {new_id(), new_id()};
      context.flags = sampler_.keeps(context.trace) ? SpanContext::kSampled : std::uint8_t{0};
    }
    context.span = new_id();
    return context;
  }
  // Never 0, which is no id.
  [[nodiscard]] std::uint64_t new_id() noexcept {
    const std::uint64_t id = ids_.bits();
    return id != 0 ? id : 1;
  }
  // Whether the spans of an operation that has ended are to be exported.
  [[nodiscard]] bool keeps(const SpanContext& context, Ending ending, Instant now) noexcept {
    if (context.is_sampled()) return true;
    if (ending == Ending::good || !exports_failures_) return false;
    return (ending == Ending::failed ? failures_ : refusals_).try_take(now);
  }
  void add(const Span& span) { lane_->add(span); }

 private:
  static admit::TokenBucketOptions bucket(std::int32_t per_second) noexcept {
    const std::int32_t most = std::max<std::int32_t>(per_second, 1);
    return {.rate_per_second = static_cast<double>(most), .burst = most};
  }

  std::shared_ptr<SpanLane> lane_;
  Sampler sampler_;
  Random ids_;
  bool exports_failures_;
  admit::TokenBucket failures_;
  admit::TokenBucket refusals_;
};

}  // namespace damper::observe
