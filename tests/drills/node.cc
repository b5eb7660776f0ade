#include "node.h"

#include <sys/resource.h>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "ask.h"
#include "breaking_sink.h"
#include "damper/base/random.h"
#include "damper/http/client/guarded_client.h"
#include "damper/http/idempotency/idempotency_memory.h"
#include "damper/http/idempotency/idempotency_sqlite.h"
#include "damper/http/idempotency/idempotent.h"
#include "damper/http/server/coroutine_handler.h"
#include "damper/http/server/guard.h"
#include "damper/http/server/handler_service.h"
#include "damper/http/server/server.h"
#include "damper/run/clock.h"

namespace damper::drills {
namespace {

using http::ExchangePtr;
using http::Handler;
using http::Response;

struct Stats {
  std::int64_t requests = 0;
  std::int64_t done = 0;
  std::int64_t cancelled = 0;
  std::int64_t late = 0;
  std::int64_t repeated = 0;
  std::int64_t stalled = 0;
  std::map<std::string, int> effects;

  [[nodiscard]] std::string text() const {
    rusage used{};
    (void)getrusage(RUSAGE_SELF, &used);
    const auto cpu = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000 +
                     used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    std::ostringstream out;
    out << "requests " << requests << "\ndone " << done << "\ncancelled " << cancelled << "\nlate "
        << late << "\neffects " << effects.size() << "\nrepeated " << repeated << "\nstalled "
        << stalled << "\ncpu_us " << cpu << '\n';
    return out.str();
  }
};

// The steady clock of this machine, which all processes of a drill share.
std::int64_t drill_deadline(const http::Request& request) {
  const auto text = request.fields.find("drill-deadline").value_or("0");
  std::int64_t at = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), at);
  return at;
}

// Work that waits, a millisecond at a time, and looks at the clock each time: what runs after the
// caller's deadline is counted.
class Waiting final : public http::Loop::Timer {
 public:
  static void begin(http::Loop& loop, ExchangePtr exchange, bool stalls, const NodeOptions& options,
                    Stats& stats, std::function<void()> then) {
    auto* waiting = new Waiting(loop, std::move(exchange), stalls, options, stats, std::move(then));
    waiting->on_timer(run::now());  // Deletes itself, in the end.
  }

 private:
  Waiting(http::Loop& loop, ExchangePtr exchange, bool stalls, const NodeOptions& options,
          Stats& stats, std::function<void()> then)
      : Timer(loop),
        exchange_(std::move(exchange)),
        deadline_(drill_deadline(exchange_->request())),
        stalls_(stalls),
        until_(run::now() + (stalls ? options.stall : options.work)),
        stats_(stats),
        then_(std::move(then)) {
    exchange_->on_cancel([this] {
      ++stats_.cancelled;
      end();
    });
  }

  void on_timer(Instant now) override {
    if (deadline_ != 0 && now.time_since_epoch().count() > deadline_) ++stats_.late;
    if (now < until_) return arm(std::min(until_, now + std::chrono::milliseconds(1)));
    ++stats_.done;
    if (stalls_) ++stats_.stalled;
    exchange_->respond(Response{.body = "done\n"});
    end();
  }

  void end() {
    const auto then = std::move(then_);
    const ExchangePtr exchange = std::move(exchange_);  // After the timer has gone.
    delete this;
    then();
  }

  ExchangePtr exchange_;
  const std::int64_t deadline_;
  const bool stalls_;
  const Instant until_;
  Stats& stats_;
  std::function<void()> then_;
};

void burn(Duration cpu) {
  timespec begin{};
  timespec now{};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do {
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1'000'000'000 + now.tv_nsec - begin.tv_nsec < cpu.count());
}

class Server {
 public:
  explicit Server(const NodeOptions& options)
      : options_(options), random_(run::now().time_since_epoch().count() & 0xffffffff) {}

  int serve() {
    const Handler work = [this](ExchangePtr exchange) { begin(std::move(exchange)); };
    Handler handler = work;
    if (!options_.next.empty()) handler = pass_on();
    if (options_.store == "memory") {
      store_ = std::make_unique<http::MemoryStore>();
    } else if (!options_.store.empty()) {
      auto opened = http::SqliteStore::open({.path = options_.store});
      if (!opened) throw std::runtime_error(opened.error());
      store_ = *std::move(opened);
    }
    if (store_) handler = http::idempotent(handler, *store_);
    std::unique_ptr<http::LoopGuard> door;
    if (options_.guard) {
      http::GuardOptions guard;
      guard.admission.limit.kind = admit::LimitKind::fixed;
      guard.admission.limit.initial = options_.slots;
      door = std::make_unique<http::LoopGuard>(loop_, guard);
      handler = http::guarded(handler, door->guard());
    }
    http::HandlerService service(loop_, [this, handler](ExchangePtr exchange) {
      if (exchange->request().target == "/stats") {
        return exchange->respond(Response{.body = stats_.text()});
      }
      ++stats_.requests;
      handler(std::move(exchange));
    });
    BreakingSink sink(loop_, service, options_.reset_percent, 7);
    http::Server server(loop_, {.port = options_.port, .reuse_port = true}, sink);
    if (const auto error = server.listen()) {
      std::fprintf(stderr, "drill_node: %s\n", error->c_str());
      return 1;
    }
    std::printf("%d\n", server.port());
    (void)std::fflush(stdout);
    loop_.run();
    return 0;
  }

 private:
  // With a guard, what comes here may run. Without, it stands in a line that nobody bounds and
  // nobody leaves: what a server does whose author never thought about it.
  void begin(ExchangePtr exchange) {
    if (options_.guard) return run(std::move(exchange));
    line_.push_back(std::move(exchange));
    serve_line();
  }
  void serve_line() {
    while (running_ < options_.slots && !line_.empty()) {
      ExchangePtr next = std::move(line_.front());
      line_.pop_front();
      ++running_;
      run(std::move(next));
    }
  }
  void on_done() {
    if (options_.guard) return;
    --running_;
    loop_.post([this] { serve_line(); });
  }

  void run(ExchangePtr exchange) {
    if (exchange->request().method == "POST") {
      if (++stats_.effects[exchange->request().body] > 1) ++stats_.repeated;
    }
    if (options_.cpu > Duration{0}) {
      return boost::asio::post(worker_, [this, exchange = std::move(exchange)]() mutable {
        burn(options_.cpu);
        loop_.post([this, exchange = std::move(exchange)] {
          ++stats_.done;
          exchange->respond(Response{.body = "done\n"});
          on_done();
        });
      });
    }
    const bool stalls = random_.draw() * 100 < options_.stall_percent;
    Waiting::begin(loop_, std::move(exchange), stalls, options_, stats_, [this] { on_done(); });
  }

  Handler pass_on() {
    next_ = std::make_unique<Dependency>("next", engine::Policy{});
    engine::Policy policy;
    policy.call.reserve = std::chrono::milliseconds(5);
    next_->reload(policy, run::now());
    client_ = std::make_unique<http::GuardedClient>(
        loop_, *next_, http::GuardedClientOptions{.endpoints = {options_.next}});
    return http::answer_with_coroutine(
        loop_, [this](const http::Request& request) -> boost::asio::awaitable<Response> {
          http::Request onward;
          onward.target = request.target;
          onward.fields.add("drill-deadline", request.fields.find("drill-deadline").value_or("0"));
          auto answer = co_await client_->request(std::move(onward));
          ++stats_.done;
          co_return Response{.status = answer ? 200 : 504};
        });
  }

  const NodeOptions options_;
  http::Loop loop_;
  Random random_;
  Stats stats_;
  std::unique_ptr<http::IdempotencyStore> store_;
  std::unique_ptr<Dependency> next_;
  std::unique_ptr<http::GuardedClient> client_;
  std::deque<ExchangePtr> line_;
  int running_ = 0;
  boost::asio::thread_pool worker_{1};
};

}  // namespace

int serve(const NodeOptions& options) { return Server(options).serve(); }

Node::Node(const std::vector<std::string>& words)
    : process_([&] {
        std::vector<std::string> command = {DRILL_NODE};
        command.insert(command.end(), words.begin(), words.end());
        return command;
      }()) {
  port_ = static_cast<std::uint16_t>(std::atoi(process_.read_line().c_str()));
  if (port_ == 0) throw std::runtime_error("drill_node did not start");
}

std::map<std::string, std::int64_t> Node::stats() const {
  for (int tries = 0; tries < 20; ++tries) {
    if (auto stats = ask_stats(); !stats.empty()) return stats;
  }
  throw std::runtime_error("drill_node does not answer");
}

// Nothing, if the connection broke: some do.
std::map<std::string, std::int64_t> Node::ask_stats() const {
  std::map<std::string, std::int64_t> stats;
  std::istringstream lines(ask(port_, "GET", "/stats").body);
  std::string name;
  for (std::int64_t value = 0; lines >> name >> value;) stats[name] = value;
  return stats;
}

}  // namespace damper::drills
