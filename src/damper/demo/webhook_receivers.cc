#include "damper/demo/webhook_receivers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "damper/http/net/loop.h"
#include "damper/http/server/handler_service.h"
#include "damper/http/server/server.h"
#include "damper/run/clock.h"
#include "damper/webhooks/signature.h"

namespace damper::demo {
namespace {

// A socket on a port of loopback that refuses connections; -1: there is none.
[[nodiscard]] int bind_refusing(std::uint16_t& port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || bind(fd, any, size) != 0 || getsockname(fd, any, &size) != 0) {
    if (fd >= 0) close(fd);
    return -1;
  }
  port = ntohs(address.sin_port);
  return fd;
}

}  // namespace

class WebhookReceivers::Service {
 public:
  Service(WebhookReceivers& all, http::Loop& loop)
      : all_(all),
        loop_(loop),
        service_(loop, [this](const http::ExchangePtr& exchange) { on_request(exchange); }),
        server_(loop, {}, service_) {}

  [[nodiscard]] std::optional<std::string> listen() { return server_.listen(); }
  [[nodiscard]] std::uint16_t port() const noexcept { return server_.port(); }

 private:
  // An answer that is sent later.
  class Later final : public http::Loop::Timer {
   public:
    using Timer::Timer;
    [[nodiscard]] bool is_free() const noexcept { return exchange_ == nullptr; }
    void start(http::ExchangePtr exchange, int status, Instant due) {
      exchange_ = std::move(exchange);
      status_ = status;
      arm(due);
    }

   private:
    void on_timer(Instant /*now*/) override {
      std::exchange(exchange_, nullptr)->respond({.status = status_});
    }
    http::ExchangePtr exchange_;
    int status_ = 0;
  };

  void on_request(const http::ExchangePtr& exchange) {
    const http::Request& request = exchange->request();
    const auto found = std::ranges::find_if(all_.receivers_, [&](const auto& receiver) {
      return request.target.substr(1) == receiver->plan.name;
    });
    if (found == all_.receivers_.end()) return exchange->respond({.status = 404});
    Receiver& receiver = **found;
    const auto headers = webhooks::received_headers(
        [&](std::string_view name) { return request.fields.find(name); });
    int status = 0;
    {
      const std::scoped_lock lock(all_.mutex_);
      const bool valid = webhooks::verify(receiver.keys, headers, request.body, run::wall_time()) ==
                         webhooks::Verification::valid;
      status = all_.take(receiver, std::string(headers.id.value_or("")), valid, loop_.now());
    }
    if (receiver.plan.answer == Duration{0}) return exchange->respond({.status = status});
    auto later = std::ranges::find_if(later_, [](const auto& one) { return one->is_free(); });
    if (later == later_.end()) {
      later = later_.insert(later_.end(), std::make_unique<Later>(loop_));
    }
    (*later)->start(exchange, status, add(loop_.now(), receiver.plan.answer));
  }

  WebhookReceivers& all_;
  http::Loop& loop_;
  std::vector<std::unique_ptr<Later>> later_;
  http::HandlerService service_;
  http::Server server_;
};

struct WebhookReceivers::Running {
  explicit Running(WebhookReceivers& all) : service(all, loop) {}
  http::Loop loop;
  Service service;
  std::thread thread;
};

WebhookReceivers::WebhookReceivers() = default;

Expected<std::unique_ptr<WebhookReceivers>> WebhookReceivers::start(
    std::vector<ReceiverPlan> plans) {
  std::unique_ptr<WebhookReceivers> all(new WebhookReceivers);
  all->running_ = std::make_unique<Running>(*all);
  Running& running = *all->running_;
  if (auto error = running.service.listen()) return unexpected(*std::move(error));
  for (ReceiverPlan& plan : plans) {
    auto receiver = std::make_unique<Receiver>();
    receiver->plan = std::move(plan);
    receiver->port = running.service.port();
    if (receiver->plan.refuses) {
      receiver->refusing = bind_refusing(receiver->port);
      if (receiver->refusing < 0) return unexpected(std::string("there is no free port"));
    }
    all->receivers_.push_back(std::move(receiver));
  }
  running.thread = std::thread([&running] { running.loop.run(); });
  return all;
}

WebhookReceivers::~WebhookReceivers() {
  if (running_ != nullptr && running_->thread.joinable()) {
    running_->loop.stop();
    running_->thread.join();
  }
  for (const auto& receiver : receivers_) {
    if (receiver->refusing >= 0) close(receiver->refusing);
  }
}

std::string WebhookReceivers::url(std::size_t receiver) const {
  const Receiver& one = *receivers_[receiver];
  return "http://127.0.0.1:" + std::to_string(one.port) + "/" + one.plan.name;
}

void WebhookReceivers::set_key(std::size_t receiver, webhooks::VerifyingKey key) {
  const std::scoped_lock lock(mutex_);
  receivers_[receiver]->keys = {std::move(key)};
}

WebhookReceivers::Counts WebhookReceivers::counts(std::size_t receiver) const {
  const std::scoped_lock lock(mutex_);
  return receivers_[receiver]->counts;
}

bool WebhookReceivers::has_accepted(std::size_t receiver, const std::string& id) const {
  const std::scoped_lock lock(mutex_);
  return receivers_[receiver]->accepted.contains(id);
}

Instant WebhookReceivers::first_request(std::size_t receiver) const {
  const std::scoped_lock lock(mutex_);
  return receivers_[receiver]->first;
}

int WebhookReceivers::take(Receiver& receiver, const std::string& id, bool valid, Instant now) {
  if (receiver.first == kNever) receiver.first = now;
  ++(receiver.seen.insert(id).second ? receiver.counts.first : receiver.counts.again);
  if (!valid) {
    ++receiver.counts.invalid;
    return 400;
  }
  if (now < add(receiver.first, receiver.plan.down)) return 503;
  ++(receiver.accepted.insert(id).second ? receiver.counts.accepted : receiver.counts.duplicates);
  return 204;
}

}  // namespace damper::demo
