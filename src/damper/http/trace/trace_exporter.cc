#include "damper/http/trace/trace_exporter.h"

#include <algorithm>
#include <future>
#include <random>
#include <thread>
#include <utility>

#include "damper/base/check.h"
#include "damper/http/client/guarded_client.h"
#include "damper/http/client/url.h"
#include "damper/http/net/loop.h"
#include "damper/run/clock.h"
#include "damper/run/dependency.h"

namespace damper::http {
namespace {

constexpr std::string_view kDefaultTarget = "/v1/traces";

std::uint64_t new_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32U | device();
}

engine::Policy policy_of(const TraceExporterOptions& options) {
  engine::Policy policy;
  policy.call.timeout = options.timeout;
  policy.call.needed = std::min(policy.call.needed, options.timeout);
  policy.call.per_try_timeout = options.timeout / 2;
  // OTLP: 429 is retried, if the collector says when.
  policy.call.retryable = {decide::Outcome::transient, decide::Outcome::timeout,
                           decide::Outcome::unavailable, decide::Outcome::overload};
  return policy;
}

GuardedClientOptions client_of(const TraceExporterOptions& options) {
  GuardedClientOptions client{.endpoints = {parse_url(options.collector)->endpoint.text()}};
  client.client.tls.ca_file = options.ca_file;
  client.client.max_response_body = TraceExporter::kMostAnswer;
  client.client.pool.max_connections = 2;
  return client;
}

std::string target_of(const TraceExporterOptions& options) {
  const std::string target = parse_url(options.collector)->target;
  return target == "/" ? std::string(kDefaultTarget) : target;
}

}  // namespace

std::optional<std::string> find_error(const TraceExporterOptions& options) {
  if (const auto url = parse_url(options.collector); !url) return "collector: " + url.error();
  const std::string& name = options.service_name;
  const bool printable =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (name.empty() || name.size() > observe::kLongestSpanText || !printable) {
    return "service_name must have 1 to 256 printable ASCII characters";
  }
  return BoundsCheck()
      .field("timeout", options.timeout, TraceExporterOptions::kTimeout)
      .field("interval", options.interval, TraceExporterOptions::kInterval)
      .field("max_batch", options.max_batch, TraceExporterOptions::kBatch)
      .field("queue", options.queue, TraceExporterOptions::kQueue)
      .field("sampling", options.tracer.sampling, observe::TracerOptions::kSampling)
      .field("failures_per_second", options.tracer.failures_per_second,
             observe::TracerOptions::kFailures)
      .error();
}

std::optional<std::string> find_ca_error(const TraceExporterOptions& options) {
  return find_error(client_of(options));
}

void TraceCounts::add(const TraceCounts& other) noexcept {
  exported += other.exported;
  queue_full += other.queue_full;
  export_failed += other.export_failed;
  rejected += other.rejected;
  shutdown += other.shutdown;
  failed_exports += other.failed_exports;
  queued += other.queued;
}

void write_trace_metrics(const TraceCounts& counts, observe::Exposition& out) {
  out.counter("damper_trace_spans_exported_total", "Spans that the collector has accepted.", {},
              counts.exported);
  const auto dropped = [&](std::string reason, std::uint64_t count) {
    out.counter("damper_trace_spans_dropped_total", "Spans that were not exported, by reason.",
                {{"reason", std::move(reason)}}, count);
  };
  dropped("queue_full", counts.queue_full);
  dropped("export_failed", counts.export_failed);
  dropped("rejected", counts.rejected);
  dropped("shutdown", counts.shutdown);
  out.counter("damper_trace_export_failures_total", "Exports that failed with all their attempts.",
              {}, counts.failed_exports);
  out.gauge("damper_trace_queued_spans", "Spans that wait for their export.", {}, counts.queued);
}

// The exporter's loop, on its own thread.
//
// Thread safety: add_lane(), counts(), drain() and on_lane_filling() by any thread, the rest on the
// loop's.
class TraceExporter::Sender final : private observe::SpanLane::Reader {
 public:
  explicit Sender(const TraceExporterOptions& options)
      : options_(options),
        target_(target_of(options)),
        dependency_("trace_collector", policy_of(options)),
        client_(std::in_place, loop_, dependency_, client_of(options)),
        timer_(loop_, *this, &Sender::on_timer),
        work_(loop_),
        thread_([this] { loop_.run(); }) {}
  ~Sender() {
    close_lanes();
    std::promise<void> ended;
    loop_.post([&] {
      timer_.cancel();
      ending_ = true;
      client_.reset();  // Ends an export as cancelled.
      ended.set_value();
    });
    ended.get_future().wait();
    loop_.stop();
    thread_.join();
  }

  [[nodiscard]] std::shared_ptr<observe::SpanLane> add_lane(std::size_t most) {
    observe::SpanLane::Reader& reader = *this;
    auto lane = std::make_shared<observe::SpanLane>(most, reader);
    {
      const std::lock_guard lock(mutex_);
      if (closed_) lane->close();
      lanes_.push_back(lane);
    }
    loop_.post([this] { arm(loop_.now()); });
    return lane;
  }

  void drain(std::function<void()> done) {
    close_lanes();
    loop_.post([this, done = std::move(done)] {
      drained_.push_back(done);
      not_before_ = Instant::min();  // This is the last chance.
      pump();
    });
  }
  void drain(Duration within) {
    auto done = std::make_shared<std::promise<void>>();
    const std::future<void> drained = done->get_future();
    drain([done] { done->set_value(); });
    if (drained.wait_for(within) == std::future_status::ready) return;
    shutdown_.store(counts().queued, std::memory_order_relaxed);
  }

  [[nodiscard]] TraceCounts counts() const {
    const auto read = [](const std::atomic<std::uint64_t>& count) {
      return count.load(std::memory_order_relaxed);
    };
    TraceCounts counts{.exported = read(exported_),
                       .queue_full = read(gone_),
                       .export_failed = read(export_failed_),
                       .rejected = read(rejected_),
                       .shutdown = read(shutdown_),
                       .failed_exports = read(failed_exports_),
                       .queued = read(pending_spans_)};
    const std::lock_guard lock(mutex_);
    for (const auto& lane : lanes_) {
      counts.queue_full += lane->dropped();
      counts.queued += lane->size();
    }
    return counts;
  }

 private:
  void close_lanes() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (const auto& lane : lanes_) lane->close();
  }
  void on_lane_filling() noexcept override {
    loop_.post([this] { pump(); });
  }
  void on_timer(Instant now) {
    pump();
    arm(now);
  }
  void arm(Instant now) {
    if (timer_.due() == kNever) timer_.arm(add(now, options_.interval));
  }

  // Takes the spans of the lanes, if none are pending, and begins an export, if none is under way.
  void pump() {
    if (sending_ > 0 || ending_ || loop_.now() < not_before_) return;
    if (pending_.empty()) take();
    if (pending_.empty()) {
      for (const auto& done : std::exchange(drained_, {})) done();
      return;
    }
    const observe::SpanPrefix batch = observe::prefix_of(pending_, options_.max_batch);
    DAMPER_CHECK(batch.spans > 0);
    sending_ = batch.spans;
    Request request = GuardedClient::make(
        "POST", target_,
        observe::make_export_request(options_.service_name, {},
                                     std::string_view(pending_).substr(0, batch.bytes)));
    request.fields.add("content-type", "application/x-protobuf");
    request.fields.add("user-agent", "damper");
    pending_.erase(0, batch.bytes);
    client_->request(std::move(request), {.idempotent = true},
                     [this](HttpResult result) { on_exported(result); });
  }
  void take() {
    const std::lock_guard lock(mutex_);
    std::size_t spans = 0;
    for (const auto& lane : lanes_) spans += lane->take(pending_);
    pending_spans_.store(spans, std::memory_order_relaxed);
    std::erase_if(lanes_, [this](const auto& lane) {
      if (lane.use_count() > 1 || lane->size() > 0) return false;
      gone_.fetch_add(lane->dropped(), std::memory_order_relaxed);
      return true;
    });
  }
  void on_exported(const HttpResult& result) {
    const std::uint64_t spans = std::exchange(sending_, 0);
    pending_spans_.fetch_sub(spans, std::memory_order_relaxed);
    const Instant now = loop_.now();
    if (result) {
      // An answer that is no protobuf rejects nothing: a collector may answer with JSON.
      const std::uint64_t rejected =
          std::min(observe::read_rejected_spans(result->body).value_or(0), spans);
      rejected_.fetch_add(rejected, std::memory_order_relaxed);
      exported_.fetch_add(spans - rejected, std::memory_order_relaxed);
      failures_ = 0;
      not_before_ = Instant::min();
    } else {
      export_failed_.fetch_add(spans, std::memory_order_relaxed);
      failed_exports_.fetch_add(1, std::memory_order_relaxed);
      wait_after(result, now);
    }
    if (ending_) return;
    // From the loop: the client is inside a callback.
    loop_.post([this] { pump(); });
  }
  void wait_after(const HttpResult& result, Instant now) {
    failures_ = std::min(failures_ + 1, 16U);
    Duration wait = options_.interval;
    for (unsigned i = 1; i < failures_ && wait < kLongestWait; ++i) wait *= 2;
    wait = std::min(wait, kLongestWait);
    wait = Duration(
        static_cast<std::int64_t>(static_cast<double>(wait.count()) * (0.5 + 0.5 * run::draw())));
    const Failure* const failure = result.failure();
    if (failure != nullptr && failure->report.server_said_when()) {
      wait = std::max(wait, std::min(failure->report.retry_after, kLongestRetryAfter));
    }
    // A drain has little time: it does not wait.
    not_before_ = drained_.empty() ? add(now, wait) : Instant::min();
  }

  const TraceExporterOptions& options_;
  const std::string target_;
  Loop loop_;
  Dependency dependency_;
  std::optional<GuardedClient> client_;
  Loop::MemberTimer<Sender> timer_;
  std::string pending_;      // taken from the lanes, not sent yet
  std::size_t sending_ = 0;  // spans of the export under way
  unsigned failures_ = 0;    // exports, since the last success
  Instant not_before_ = Instant::min();
  bool ending_ = false;
  std::vector<std::function<void()>> drained_;
  mutable std::mutex mutex_;  // for the next two
  std::vector<std::shared_ptr<observe::SpanLane>> lanes_;
  bool closed_ = false;
  std::atomic<std::uint64_t> exported_{0}, export_failed_{0}, rejected_{0}, shutdown_{0},
      failed_exports_{0}, pending_spans_{0};
  std::atomic<std::uint64_t> gone_{0};  // spans that lanes dropped whose tracers have gone
  Loop::Work work_;
  std::thread thread_;
};

TraceExporter::TraceExporter(const TraceExporterOptions& options, std::size_t lanes)
    : options_(options), lanes_(std::max<std::size_t>(lanes, 1)) {
  DAMPER_CHECK_VALID(find_error(options));
  sender_ = std::make_unique<Sender>(options_);
}
TraceExporter::~TraceExporter() = default;

std::unique_ptr<observe::Tracer> TraceExporter::make_tracer() {
  observe::TracerOptions options = options_.tracer;
  if (options.failures_per_second > 0) {
    options.failures_per_second =
        std::max<std::int32_t>(1, options.failures_per_second / static_cast<std::int32_t>(lanes_));
  }
  const std::size_t most = std::max<std::size_t>(options_.queue / lanes_, 4);
  return std::make_unique<observe::Tracer>(sender_->add_lane(most), options, new_seed());
}

void TraceExporter::drain(Duration within) { sender_->drain(within); }
void TraceExporter::drain(std::function<void()> done) { sender_->drain(std::move(done)); }
TraceCounts TraceExporter::counts() const { return sender_->counts(); }

}  // namespace damper::http
