#include "damper/demo/load_generator.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "damper/base/check.h"
#include "damper/decide/layering.h"
#include "damper/http/client/client.h"
#include "damper/http/client/guarded_client.h"
#include "damper/http/client/url.h"
#include "damper/http/net/loop.h"
#include "damper/run/dependency.h"

namespace damper::demo {
namespace {

constexpr Duration kPace = std::chrono::milliseconds(2);

http::ClientOptions client_options() {
  http::ClientOptions options;
  options.pool.max_connections = 1'000;
  options.pool.max_waiting = 10'000;
  return options;
}

// The policy alone decides: no target is ejected.
http::GuardedClientOptions guarded_options(const LoadOptions& options) {
  http::GuardedClientOptions guarded{.endpoints = options.targets};
  guarded.replicas.breaker = {.consecutive_failures = 0, .minimum_volume = 1'000'000};
  guarded.replicas.latency_factor = 0;
  guarded.client = client_options();
  return guarded;
}

}  // namespace

// One request, with all its attempts.
class LoadGenerator::Call final : public http::Loop::Timer {
 public:
  Call(Running& load, http::Loop& loop, std::uint64_t number, Instant now, Client* client)
      : Timer(loop), load_(load), number_(number), started_(now), client_(client) {}

  void start();

  std::list<Call>::iterator place{};
  bool marked = false;

 private:
  void on_timer(Instant /*now*/) override { attempt(); }
  void attempt();
  void on_answer(const Result<http::Response>& answer);
  void end(std::uint32_t attempts, bool answered);

  Running& load_;
  const std::uint64_t number_;
  const Instant started_;
  Client* const client_;  // null: sent at the rate, not by a client
  std::uint32_t attempts_ = 0;
};

// Starts a request whenever one is due and none is under way.
class LoadGenerator::Client final : public http::Loop::Timer {
 public:
  Client(Running& load, http::Loop& loop) : Timer(loop), load_(load) {}
  void on_idle(Instant now);

 private:
  void on_timer(Instant now) override;

  Running& load_;
};

// Starts the requests that are due at the rate.
class LoadGenerator::Pacer final : public http::Loop::Timer {
 public:
  Pacer(Running& load, http::Loop& loop) : Timer(loop), load_(load) {}

 private:
  void on_timer(Instant now) override;

  Running& load_;
  Instant before_{};
  double due_ = 0;  // a fraction of a request
};

struct LoadGenerator::Running {
  Running(const LoadOptions& wanted, Instant when)
      : options(wanted), begun(when), rate(wanted.rate_per_second) {
    if (!options.policy) return;
    dependency.emplace("load", *options.policy);
    guarded.emplace(loop, *dependency, guarded_options(options));
  }

  void start_call(Instant now, Client* owner) {
    under_way.fetch_add(1);
    Call& call = calls.emplace_back(*this, loop, started.fetch_add(1), now, owner);
    call.place = std::prev(calls.end());
    call.start();
  }

  const LoadOptions options;
  const Instant begun;
  std::vector<http::Url> targets;
  std::atomic<double> rate;
  std::atomic<std::uint64_t> started{0};
  std::atomic<std::uint64_t> under_way{0};
  std::atomic<std::uint64_t> marked{0};
  std::atomic<Instant> marked_ended{kNever};

  std::mutex mutex;  // of:
  std::vector<LoadCall> ended;

  std::optional<Dependency> dependency;
  http::Loop loop;
  std::deque<Client> clients;
  std::list<Call> calls;
  // Destroyed before the calls that they report to.
  http::Client client{loop, client_options()};
  std::optional<http::GuardedClient> guarded;
  Pacer pacer{*this, loop};
  std::thread thread;
};

void LoadGenerator::Call::start() {
  if (!load_.guarded) return attempt();
  load_.guarded->get(load_.options.path, kNever, [this](const http::HttpResult& result) {
    end(result.attempts(), static_cast<bool>(result));
  });
}

void LoadGenerator::Call::attempt() {
  const http::Url& target = load_.targets[(number_ + attempts_) % load_.targets.size()];
  http::Request request = http::make_request("GET", target);
  if (++attempts_ > 1) request.fields.add(decide::kAttemptHeader, std::to_string(attempts_));
  load_.client.fetch(std::move(request), loop().now() + load_.options.attempt_timeout,
                     [this](const Result<http::Response>& answer) { on_answer(answer); });
}

void LoadGenerator::Call::on_answer(const Result<http::Response>& answer) {
  const bool answered = answer && answer->status == 200;
  const LoadOptions& options = load_.options;
  if (answered || attempts_ == options.attempts) return end(attempts_, answered);
  const Duration doubled = options.delay * (std::int64_t{1} << (attempts_ - 1));
  const bool doubles = options.longest_delay > Duration{0};
  arm(loop().now() + (doubles ? std::min(doubled, options.longest_delay) : options.delay));
}

void LoadGenerator::Call::end(std::uint32_t attempts, bool answered) {
  const Instant now = loop().now();
  {
    const std::lock_guard lock(load_.mutex);
    load_.ended.push_back({.started = started_ - load_.begun,
                           .ended = now - load_.begun,
                           .attempts = attempts,
                           .answered = answered});
  }
  if (marked && load_.marked.fetch_sub(1) == 1) load_.marked_ended.store(now);
  load_.under_way.fetch_sub(1);
  if (client_ != nullptr) client_->on_idle(now);
  load_.calls.erase(place);  // Destroys this.
}

void LoadGenerator::Client::on_idle(Instant now) {
  const Duration every = load_.options.every;
  const Duration due = next_request(now - load_.begun, every) * every;
  if (due < load_.options.until) arm(load_.begun + due);
}

void LoadGenerator::Client::on_timer(Instant now) { load_.start_call(now, this); }

void LoadGenerator::Pacer::on_timer(Instant now) {
  if (before_ != Instant{}) {
    due_ += std::chrono::duration<double>(now - before_).count() * load_.rate.load();
  }
  before_ = now;
  for (; due_ >= 1; due_ -= 1) load_.start_call(now, nullptr);
  arm(now + kPace);
}

LoadGenerator::LoadGenerator(std::unique_ptr<Running> running) : running_(std::move(running)) {}

Expected<std::unique_ptr<LoadGenerator>> LoadGenerator::start(const LoadOptions& options,
                                                              Instant begun) {
  auto running = std::make_unique<Running>(options, begun);
  for (const std::string& target : options.targets) {
    Expected<http::Url> url = http::parse_url(target + options.path);
    if (!url) return unexpected(url.error());
    running->targets.push_back(std::move(*url));
  }
  Running& load = *running;
  for (int i = 0; i < options.clients; ++i) load.clients.emplace_back(load, load.loop).arm(begun);
  if (options.clients == 0) load.pacer.arm(begun);
  load.thread = std::thread([&load] { load.loop.run(); });
  return std::unique_ptr<LoadGenerator>(new LoadGenerator(std::move(running)));
}

LoadGenerator::~LoadGenerator() {
  running_->loop.stop();
  running_->thread.join();
}

void LoadGenerator::set_rate(double per_second) { running_->rate.store(per_second); }

std::uint64_t LoadGenerator::started() const noexcept { return running_->started.load(); }

std::uint64_t LoadGenerator::under_way() const noexcept { return running_->under_way.load(); }

std::uint64_t LoadGenerator::mark() {
  std::promise<std::uint64_t> count;
  std::future<std::uint64_t> known = count.get_future();
  running_->loop.post([this, &count] {
    for (Call& call : running_->calls) call.marked = true;
    running_->marked.store(running_->calls.size());
    count.set_value(running_->calls.size());
  });
  return known.get();
}

std::optional<Instant> LoadGenerator::marked_ended() const {
  const Instant at = running_->marked_ended.load();
  return at == kNever ? std::nullopt : std::optional(at);
}

std::vector<LoadCall> LoadGenerator::take() {
  const std::lock_guard lock(running_->mutex);
  return std::exchange(running_->ended, {});
}

engine::Tally LoadGenerator::tally() const {
  DAMPER_CHECK(running_->dependency.has_value());
  return running_->dependency->tally();
}

void LoadGenerator::sample(const DemoBackends& backends, LaneRecord& record, bool late) {
  const std::uint64_t now_started = started();
  const DemoBackends::Arrivals arrived = backends.arrivals();
  const auto add = [late](std::vector<std::uint32_t>& counts, std::uint64_t more) {
    if (!late) counts.push_back(0);
    counts.back() += static_cast<std::uint32_t>(more);
  };
  add(record.started, now_started - std::exchange(sampled_started_, now_started));
  add(record.attempts, arrived.all - sampled_.all);
  add(record.retries, arrived.retries - sampled_.retries);
  sampled_ = arrived;
  const std::vector<LoadCall> ended = take();
  record.calls.insert(record.calls.end(), ended.begin(), ended.end());
}

}  // namespace damper::demo
