#include "damper/demo/demo_fleet.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "damper/http/client/client.h"
#include "damper/http/client/url.h"
#include "damper/http/net/loop.h"

namespace damper::demo {
namespace {

constexpr Duration kPace = std::chrono::milliseconds(2);

http::ClientOptions client_options() {
  http::ClientOptions options;
  options.pool.max_connections = 1'000;
  options.pool.max_waiting = 10'000;
  return options;
}

}  // namespace

// One request, with all its attempts.
class DemoFleet::Call final : public http::Loop::Timer {
 public:
  Call(Running& fleet, http::Loop& loop, std::uint64_t number, Instant now)
      : Timer(loop), fleet_(fleet), number_(number), started_(now) {}

  void attempt();
  void on_answer(const Result<http::Response>& answer);

  std::list<Call>::iterator place{};
  bool marked = false;

 private:
  void on_timer(Instant /*now*/) override { attempt(); }

  Running& fleet_;
  const std::uint64_t number_;
  const Instant started_;
  std::uint32_t attempts_ = 0;
};

// Starts what is due.
class DemoFleet::Pace final : public http::Loop::Timer {
 public:
  Pace(Running& fleet, http::Loop& loop) : Timer(loop), fleet_(fleet) {}

 private:
  void on_timer(Instant now) override;

  Running& fleet_;
  Instant before_{};
  double due_ = 0;  // a fraction of a request
};

struct DemoFleet::Running {
  Running(const DemoFleetOptions& wanted, Instant when)
      : options(wanted), begun(when), rate(wanted.rate_per_second) {}

  void over(Call& call, Instant started, bool answered);

  const DemoFleetOptions options;
  const Instant begun;
  std::vector<http::Url> targets;
  std::atomic<double> rate;
  std::atomic<std::uint64_t> started{0};
  std::atomic<std::uint64_t> under_way{0};
  std::atomic<std::uint64_t> marked{0};
  std::atomic<Instant> marked_ended{kNever};

  std::mutex mutex;  // of:
  std::vector<DemoCall> ended;

  http::Loop loop;
  std::list<Call> calls;
  http::Client client{loop, client_options()};  // Goes before the calls that hear from it.
  Pace pace{*this, loop};
  std::thread thread;
};

void DemoFleet::Call::attempt() {
  const http::Url& target = fleet_.targets[(number_ + attempts_) % fleet_.targets.size()];
  ++attempts_;
  fleet_.client.fetch(http::make_request("GET", target),
                      loop().now() + fleet_.options.attempt_timeout,
                      [this](const Result<http::Response>& answer) { on_answer(answer); });
}

void DemoFleet::Call::on_answer(const Result<http::Response>& answer) {
  const bool answered = answer && answer->status == 200;
  if (!answered && attempts_ < fleet_.options.attempts) {
    arm(loop().now() + fleet_.options.delay);
    return;
  }
  fleet_.over(*this, started_, answered);
}

void DemoFleet::Pace::on_timer(Instant now) {
  if (before_ != Instant{}) {
    due_ += std::chrono::duration<double>(now - before_).count() * fleet_.rate.load();
  }
  before_ = now;
  for (; due_ >= 1; due_ -= 1) {
    const std::uint64_t number = fleet_.started.fetch_add(1);
    fleet_.under_way.fetch_add(1);
    Call& call = fleet_.calls.emplace_back(fleet_, loop(), number, now);
    call.place = std::prev(fleet_.calls.end());
    call.attempt();
  }
  arm(now + kPace);
}

void DemoFleet::Running::over(Call& call, Instant call_started, bool answered) {
  const Instant now = loop.now();
  {
    const std::lock_guard lock(mutex);
    ended.push_back({.started = call_started - begun, .ended = now - begun, .answered = answered});
  }
  if (call.marked && marked.fetch_sub(1) == 1) marked_ended.store(now);
  under_way.fetch_sub(1);
  calls.erase(call.place);
}

DemoFleet::DemoFleet(std::unique_ptr<Running> running) : running_(std::move(running)) {}

Expected<std::unique_ptr<DemoFleet>> DemoFleet::start(const DemoFleetOptions& options,
                                                      Instant begun) {
  auto running = std::make_unique<Running>(options, begun);
  for (const std::string& target : options.targets) {
    Expected<http::Url> url = http::parse_url(target + options.path);
    if (!url) return unexpected(url.error());
    running->targets.push_back(std::move(*url));
  }
  Running& fleet = *running;
  fleet.pace.arm(fleet.loop.now());
  fleet.thread = std::thread([&fleet] { fleet.loop.run(); });
  return std::unique_ptr<DemoFleet>(new DemoFleet(std::move(running)));
}

DemoFleet::~DemoFleet() {
  running_->loop.stop();
  running_->thread.join();
}

void DemoFleet::set_rate(double per_second) { running_->rate.store(per_second); }

std::uint64_t DemoFleet::started() const noexcept { return running_->started.load(); }

std::uint64_t DemoFleet::under_way() const noexcept { return running_->under_way.load(); }

std::uint64_t DemoFleet::mark() {
  std::promise<std::uint64_t> count;
  std::future<std::uint64_t> known = count.get_future();
  running_->loop.post([this, &count] {
    for (Call& call : running_->calls) call.marked = true;
    running_->marked.store(running_->calls.size());
    count.set_value(running_->calls.size());
  });
  return known.get();
}

std::optional<Instant> DemoFleet::marked_ended() const {
  const Instant at = running_->marked_ended.load();
  return at == kNever ? std::nullopt : std::optional(at);
}

std::vector<DemoCall> DemoFleet::take() {
  const std::lock_guard lock(running_->mutex);
  return std::exchange(running_->ended, {});
}

}  // namespace damper::demo
