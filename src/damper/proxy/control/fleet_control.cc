#include "damper/proxy/control/fleet_control.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include "damper/http/client/client.h"
#include "damper/http/net/loop.h"
#include "damper/observe/process_event.h"
#include "damper/proxy/control/fleet_copy.h"
#include "damper/run/clock.h"

namespace damper::proxy {
namespace {

FleetWatchOptions watch_options(const ControlAddress& address) {
  return {.prefix = address.prefix, .endpoints = address.endpoints.size()};
}

http::ClientOptions client_options(const ControlAddress& address) {
  const FleetWatchOptions watch = watch_options(address);
  http::ClientOptions options;
  options.pool.max_connections = 2;
  options.pool.limits.body_timeout = 2 * watch.watch_for;  // A watch is silent for long.
  options.pool.limits.message_timeout = Duration{0};
  options.max_endpoints = ControlAddress::kMostEndpoints;
  options.tls = address.tls;
  return options;
}

}  // namespace

namespace {

// What the loop's users are made with, before them.
struct OwnLoop {
  http::Loop own_loop;
};

}  // namespace

class FleetControl::Inside final : private OwnLoop,
                                   private http::PoolUser,
                                   private http::Loop::Timer,
                                   private http::Loop::TurnEnd {
 public:
  Inside(const ControlAddress& address, std::string folder)
      : http::Loop::Timer(own_loop),
        http::Loop::TurnEnd(own_loop),
        loop_(own_loop),
        address_(address),
        folder_(std::move(folder)),
        client_(std::in_place, own_loop, client_options(address)),
        work_(own_loop) {
    watch_.emplace(watch_options(address), Fleet{});
  }
  ~Inside() override {
    if (thread_.joinable()) {
      loop_.post([this] { loop_.stop(); });
      thread_.join();
    }
    collection_ = {};
    http::PoolUser::cancel();
    client_.reset();
  }

  std::optional<std::string> load() {
    auto copy = load_fleet(folder_);
    if (!copy) return copy.error();
    if (!*copy) return std::nullopt;
    good_ = (*copy)->policy;
    watch_.emplace(watch_options(address_), **copy);
    return std::nullopt;
  }

  std::optional<std::string> read_first(Duration within) {
    first_until_ = add(run::now(), within);
    do_step(watch_->start(run::now(), run::draw()));
    loop_.run();
    first_until_ = kNever;
    if (watch_->is_connected()) return std::nullopt;
    return lost_.empty() ? "it is silent" : lost_;
  }

  void start(FleetSink& sink, engine::EventSink& events, observe::Registry& registry) {
    sink_ = &sink;
    events_ = &events;
    refused_ = &registry.counter("damper_control_refused_total",
                                 "Policies and switches of the fleet that were refused.");
    collection_ = registry.collect([this](observe::Exposition& out) { write(out); });
    for (const auto& [scope, text] : watch_->fleet().switches)
      hand_on({.scope = scope, .text = text});
    save();
    if (!lost_.empty()) say_lost(std::exchange(lost_, {}));
    arm_timer(watch_wake_);
    thread_ = std::thread([this] { loop_.run(); });
  }

  [[nodiscard]] const Fleet& fleet() const { return watch_->fleet(); }
  [[nodiscard]] const std::optional<std::string>& good() const { return good_; }
  void on_good(std::string text) { applied_ = good_ = std::move(text); }

 private:
  // ---- What the decision says ----
  void do_step(FleetStep step) {
    if (step.close) {
      http::PoolUser::cancel();
      stream_ = nullptr;
      whole_ = false;
      ++request_number_;
    }
    const bool again = step.read && was_refused(step);
    for (const FleetStep::Change& change : step.changes) hand_on(change);
    if (again) hand_on({.is_policy = true, .text = watch_->fleet().policy});
    if (!step.changes.empty() || again) save();
    if (step.restored) say_restored();
    if (!step.lost.empty()) say_lost(std::move(step.lost));
    show();
    watch_wake_ = step.wake;
    if (step.send) {
      request_ = std::move(step.send);
      ask_turn_end();  // Not from the last request's callback.
    }
    arm_timer(step.wake);
    if (first_until_ != kNever && watch_->is_connected()) loop_.stop();
  }
  void arm_timer(Instant wake) { arm(std::min(wake, first_until_)); }

  void on_turn_end() override {
    if (!request_) return;
    if (http::PoolUser::is_under_way()) http::PoolUser::cancel();
    // After a failure with nothing of before: a certificate may be another one by now.
    if (const std::uint64_t errors = watch_->errors(); errors != seen_errors_) {
      seen_errors_ = errors;
      client_.emplace(loop_, client_options(address_));
    }
    client_->open(address_.endpoints[request_->endpoint], *this);
  }
  void on_timer(Instant now) override {
    if (first_until_ <= now) return loop_.stop();
    do_step(watch_->on_timer(now, run::draw()));
  }

  // ---- What the request tells ----
  void on_open(http::Stream& stream) override {
    stream_ = &stream;
    const http::Endpoint& endpoint = address_.endpoints[request_->endpoint];
    const std::string authority = endpoint.authority();
    const std::array<http::Field, 1> fields{{{"content-type", "application/json"}}};
    http::Head head;
    head.method = "POST";
    head.scheme = endpoint.scheme();
    head.authority = authority;
    head.target = request_->path;
    head.content_length = request_->body.size();
    head.fields = fields;
    stream.send_head(head, false);
    sent_ = 0;
    on_writable();
  }
  void on_writable() override {
    if (sent_ == request_->body.size()) return;
    sent_ += stream_->send_data(std::string_view(request_->body).substr(sent_), true);
  }
  void on_head(const http::Head& head, bool end) override {
    whole_ = end;
    defer([this, status = head.status] {
      return watch_->on_status(status, loop_.now(), run::draw());
    });
  }
  void on_data(std::string_view bytes) override {
    stream_->consumed(bytes.size());
    defer([this, text = std::string(bytes)] {
      return watch_->on_bytes(text, loop_.now(), run::draw());
    });
  }
  void on_end(std::span<const http::Field> /*trailers*/) override { whole_ = true; }
  void on_over(http::CloseReason reason, bool /*unsent*/) override {
    stream_ = nullptr;
    const bool whole = std::exchange(whole_, false);
    defer([this, whole, reason] {
      return watch_->on_end(whole, name(reason), loop_.now(), run::draw());
    });
  }
  // Outside of the stream's calls, which the answer may end; nothing of a request that was ended
  // since.
  template <class Input>
  void defer(Input input) {
    loop_.post([this, input = std::move(input), of = request_number_] {
      if (of == request_number_) do_step(input());
    });
  }

  // ---- What it is for ----
  void hand_on(const FleetStep::Change& change) {
    if (sink_ == nullptr) return;
    const auto why = change.is_policy ? sink_->on_policy(*change.text)
                                      : sink_->on_switch(change.scope, change.text);
    if (why) refused_->add();
    if (!why && change.is_policy) applied_ = good_ = change.text;
  }
  // Whether the policy is another than the proxy's, and not among what the step changes.
  [[nodiscard]] bool was_refused(const FleetStep& step) const {
    const std::optional<std::string>& policy = watch_->fleet().policy;
    return sink_ != nullptr && policy && policy != applied_ &&
           std::none_of(step.changes.begin(), step.changes.end(),
                        [](const FleetStep::Change& change) { return change.is_policy; });
  }
  void save() {
    if (sink_ == nullptr) return;
    Fleet copy = watch_->fleet();
    copy.policy = good_;
    if (copy == saved_) return;
    if (const auto why = save_fleet(folder_, copy)) {
      emit(observe::ProcessEvent::policy_refused, *why);
    } else {
      saved_ = std::move(copy);
    }
  }

  void emit(observe::ProcessEvent kind, std::string_view detail, Duration length = Duration{0}) {
    if (events_ == nullptr) return;
    events_->on_event(
        {.kind = kind, .key = "control", .at = run::now(), .length = length, .detail = detail});
  }
  void say_lost(std::string why) {
    if (events_ == nullptr) {
      lost_ = std::move(why);  // Reported once there is an event sink.
      return;
    }
    lost_at_ = run::now();
    emit(observe::ProcessEvent::control_lost, why);
  }
  void say_restored() {
    lost_.clear();
    emit(observe::ProcessEvent::control_restored, {}, between(lost_at_, run::now()));
  }

  // ---- Metrics: written here, read at each scrape ----
  void show() {
    connected_.store(watch_->is_connected(), std::memory_order_relaxed);
    revision_.store(watch_->fleet().revision, std::memory_order_relaxed);
    errors_.store(watch_->errors(), std::memory_order_relaxed);
    if (const auto at = watch_->last_response()) {
      last_response_.store(at->time_since_epoch().count(), std::memory_order_relaxed);
    }
  }
  void write(observe::Exposition& out) const {
    out.gauge("damper_control_connected", "1 while etcd answers, otherwise 0.", {},
              connected_.load(std::memory_order_relaxed) ? 1 : 0);
    out.gauge("damper_control_last_revision", "Revision of etcd's store in its last response.", {},
              static_cast<double>(revision_.load(std::memory_order_relaxed)));
    out.counter("damper_control_errors_total", "Requests to etcd that failed.", {},
                errors_.load(std::memory_order_relaxed));
    const Duration last{last_response_.load(std::memory_order_relaxed)};
    const Duration age = last == Duration{0} ? Duration{0} : between(Instant{last}, run::now());
    out.gauge("damper_control_age_seconds", "Age of etcd's last response; 0 before the first.", {},
              std::chrono::duration<double>(age).count());
  }

  http::Loop& loop_;
  const ControlAddress address_;
  const std::string folder_;
  std::optional<http::Client> client_;
  http::Loop::Work work_;
  std::optional<FleetWatch> watch_;
  std::optional<FleetStep::Request> request_;
  http::Stream* stream_ = nullptr;
  std::size_t sent_ = 0;  // of the request's body
  bool whole_ = false;    // all of the answer is there
  std::uint64_t request_number_ = 0;
  std::uint64_t seen_errors_ = 0;  // of the watch's, when the client was made
  Instant first_until_ = kNever;
  Instant watch_wake_ = kNever;
  std::optional<std::string> good_;     // of the copy
  std::optional<std::string> applied_;  // what the proxy runs with; nothing: not the fleet's
  Fleet saved_;
  std::string lost_;
  Instant lost_at_ = run::now();
  FleetSink* sink_ = nullptr;
  engine::EventSink* events_ = nullptr;
  observe::Counter* refused_ = nullptr;
  observe::Registry::Collection collection_;
  std::atomic<bool> connected_ = false;
  std::atomic<std::int64_t> revision_ = 0;
  std::atomic<std::uint64_t> errors_ = 0;
  std::atomic<std::int64_t> last_response_ = 0;
  std::thread thread_;
};

FleetControl::FleetControl(const ControlAddress& address, std::string folder)
    : inside_(std::make_unique<Inside>(address, std::move(folder))) {}
FleetControl::~FleetControl() = default;

std::optional<std::string> FleetControl::load() { return inside_->load(); }
std::optional<std::string> FleetControl::read_first(Duration within) {
  return inside_->read_first(within);
}
const Fleet& FleetControl::fleet() const { return inside_->fleet(); }
const std::optional<std::string>& FleetControl::good_policy() const { return inside_->good(); }
void FleetControl::on_good_policy(std::string text) { inside_->on_good(std::move(text)); }
void FleetControl::start(FleetSink& sink, engine::EventSink& events, observe::Registry& registry) {
  inside_->start(sink, events, registry);
}

}  // namespace damper::proxy
