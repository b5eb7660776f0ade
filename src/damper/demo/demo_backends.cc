#include "damper/demo/demo_backends.h"

#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "damper/base/random.h"
#include "damper/decide/layering.h"
#include "damper/http/net/loop.h"
#include "damper/http/server/handler_service.h"
#include "damper/http/server/server.h"

namespace damper::demo {

class DemoBackends::Backend {
 public:
  Backend(DemoBackends& all, http::Loop& loop, std::size_t number)
      : all_(all),
        number_(number),
        random_(number),
        service_(loop, [this](http::ExchangePtr exchange) { on_request(std::move(exchange)); }),
        server_(loop, {}, service_) {
    for (std::size_t i = 0; i < all.options_.workers; ++i)
      workers_.push_back(std::make_unique<Worker>(loop, *this));
  }

  [[nodiscard]] std::optional<std::string> listen() { return server_.listen(); }
  [[nodiscard]] std::string endpoint() const {
    return "http://127.0.0.1:" + std::to_string(server_.port());
  }

 private:
  class Worker final : public http::Loop::Timer {
   public:
    Worker(http::Loop& loop, Backend& backend) : Timer(loop), backend_(backend) {}
    [[nodiscard]] bool is_idle() const noexcept { return !work_; }
    void begin(http::ExchangePtr work, Duration takes) {
      work_ = std::move(work);
      arm(loop().now() + takes);
    }

   private:
    void on_timer(Instant /*now*/) override {
      std::exchange(work_, nullptr)->respond({.status = 200, .body = "ok\n"});
      backend_.on_idle(*this);
    }
    Backend& backend_;
    http::ExchangePtr work_;
  };

  void on_request(http::ExchangePtr exchange) {
    all_.arrivals_.fetch_add(1);
    const auto attempt = exchange->request().fields.find(decide::kAttemptHeader);
    if (attempt && *attempt != "1") all_.retries_.fetch_add(1);
    if (all_.down_.load() || line_.size() >= all_.options_.longest_queue) {
      exchange->respond({.status = 503});
      return;
    }
    line_.push_back(std::move(exchange));
    for (const auto& worker : workers_) {
      if (worker->is_idle()) {
        on_idle(*worker);
        return;
      }
    }
  }

  void on_idle(Worker& worker) {
    while (!line_.empty()) {
      http::ExchangePtr next = std::move(line_.front());
      line_.pop_front();
      if (all_.down_.load()) {
        next->respond({.status = 503});
        continue;
      }
      const double takes = static_cast<double>(all_.options_.service.count()) *
                           (0.5 + random_.draw()) * all_.slowness_[number_].load();
      worker.begin(std::move(next), Duration(static_cast<std::int64_t>(takes)));
      return;
    }
  }

  DemoBackends& all_;
  const std::size_t number_;
  Random random_;
  std::deque<http::ExchangePtr> line_;
  std::vector<std::unique_ptr<Worker>> workers_;
  http::HandlerService service_;
  http::Server server_;
};

struct DemoBackends::Running {
  http::Loop loop;
  std::vector<std::unique_ptr<Backend>> backends;
  std::thread thread;
};

DemoBackends::DemoBackends(const DemoBackendOptions& options)
    : options_(options), running_(std::make_unique<Running>()) {}

Expected<std::unique_ptr<DemoBackends>> DemoBackends::start(const DemoBackendOptions& options) {
  std::unique_ptr<DemoBackends> all(new DemoBackends(options));
  Running& running = *all->running_;
  for (std::size_t i = 0; i < kDemoBackends; ++i) {
    running.backends.push_back(std::make_unique<Backend>(*all, running.loop, i));
    if (auto error = running.backends.back()->listen()) return unexpected(std::move(*error));
    all->endpoints_.push_back(running.backends.back()->endpoint());
  }
  running.thread = std::thread([&running] { running.loop.run(); });
  return all;
}

DemoBackends::~DemoBackends() {
  if (!running_->thread.joinable()) return;
  running_->loop.stop();
  running_->thread.join();
}

}  // namespace damper::demo
