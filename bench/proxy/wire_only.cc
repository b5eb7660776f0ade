// The wire alone: a proxy of the server, the pool and the codecs, without an engine, a route or a
// log. What `damper proxy` costs above it is what its defences cost.
//
//   damper_wire_only LISTEN_PORT BACKEND_PORT [h2]     (h2: speaks it to the backend)

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/http/client/client_metrics.h"
#include "damper/http/client/pool.h"
#include "damper/http/codec/message.h"
#include "damper/http/server/server.h"

namespace {

using namespace damper;

class Relay;

class Sink final : public http::RequestSink {
 public:
  explicit Sink(http::Pool& pool) : pool_(pool) {}
  [[nodiscard]] http::StreamUser& on_request(http::Stream& stream) override;
  void recycle(Relay& relay) { spare_.push_back(&relay); }
  [[nodiscard]] http::Pool& pool() noexcept { return pool_; }

 private:
  http::Pool& pool_;
  std::vector<std::unique_ptr<Relay>> all_;
  std::vector<Relay*> spare_;
};

// One request: what comes from below goes up, what comes from above goes down. Requests with a
// body, and answers that do not fit, are not for it.
class Relay final : private http::StreamUser {
 public:
  explicit Relay(Sink& sink) : sink_(sink), up_(*this) {}
  [[nodiscard]] http::StreamUser& begin(http::Stream& down) {
    down_ = &down;
    return *this;
  }

 private:
  struct Up final : http::PoolUser {
    explicit Up(Relay& ours) : relay(ours) {}
    void on_open(http::Stream& opened) override {
      stream = &opened;
      if (relay.head_ != nullptr) return opened.send_head(*relay.head_, true);
      const http::Head head = relay.kept_.head();
      opened.send_head(head, true);
    }
    void on_head(const http::Head& head, bool end) override {
      if (relay.down_ != nullptr) relay.down_->send_head(head, end);
    }
    void on_data(std::string_view bytes) override {
      if (relay.down_ != nullptr && relay.down_->send_data(bytes, false) != bytes.size()) {
        std::abort();
      }
      stream->consumed(bytes.size());
    }
    void on_end(std::span<const http::Field> trailers) override {
      if (relay.down_ == nullptr) return;
      if (!trailers.empty()) return relay.down_->send_trailers(trailers);
      static_cast<void>(relay.down_->send_data({}, true));
    }
    void on_over(http::CloseReason reason, bool) override {
      stream = nullptr;
      if (reason != http::CloseReason::finished && relay.down_ != nullptr) {
        std::exchange(relay.down_, nullptr)->cancel();
      }
      relay.end_if_done();
    }
    Relay& relay;
    http::Stream* stream = nullptr;
  };

  void on_head(const http::Head& head, bool end) override {
    if (!end) std::abort();
    head_ = &head;
    sink_.pool().open(up_);
    head_ = nullptr;
    if (up_.is_under_way() && up_.stream == nullptr) kept_ = http::Request::from(head);
  }
  void on_data(std::string_view) override {}
  void on_end(std::span<const http::Field>) override {}
  void on_close(http::CloseReason) override {
    down_ = nullptr;
    end_if_done();
  }
  void end_if_done() {
    if (down_ == nullptr && !up_.is_under_way()) sink_.recycle(*this);
  }

  Sink& sink_;
  Up up_;
  http::Stream* down_ = nullptr;
  const http::Head* head_ = nullptr;  // during on_head()
  http::Request kept_;                // until there is a connection
};

http::StreamUser& Sink::on_request(http::Stream& stream) {
  if (spare_.empty()) {
    all_.push_back(std::make_unique<Relay>(*this));
    spare_.push_back(all_.back().get());
  }
  Relay& relay = *spare_.back();
  spare_.pop_back();
  return relay.begin(stream);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2) {
    std::fputs("usage: damper_wire_only LISTEN_PORT BACKEND_PORT [h2]\n", stderr);
    return 2;
  }
  const auto port = [](const std::string& word) {
    return static_cast<std::uint16_t>(std::atoi(word.c_str()));
  };
  http::Loop loop;
  http::Dialer dialer(loop, {});
  http::ClientMetrics metrics;
  http::PoolOptions options;
  options.max_connections = 1000;
  if (words.size() > 2) options.plain = http::Protocol::h2;
  http::Pool pool(dialer, {.tls = false, .host = "127.0.0.1", .port = port(words[1])}, options,
                  nullptr, metrics);
  Sink sink(pool);
  http::ServerOptions listen;
  listen.port = port(words[0]);
  http::Server server(loop, listen, sink);
  if (const auto error = server.listen()) {
    std::fprintf(stderr, "%s\n", error->c_str());
    return 1;
  }
  loop.run();
}
