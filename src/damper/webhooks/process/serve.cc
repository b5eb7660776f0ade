#include "damper/webhooks/process/serve.h"

#include <unistd.h>

#include <csignal>
#include <optional>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include "damper/base/text/utf8.h"
#include "damper/http/net/descriptor_limit.h"
#include "damper/http/net/loop.h"
#include "damper/http/net/signal_fd.h"
#include "damper/observe/log_writers.h"
#include "damper/run/clock.h"
#include "damper/store/postgres/postgres_url.h"
#include "damper/webhooks/process/attempt_log.h"
#include "damper/webhooks/process/webhook_server.h"

namespace damper::webhooks {
namespace {

// A WebhookProcess runs a server on a loop until a signal comes.
class WebhookProcess final : private http::Loop::Registration {
 public:
  WebhookProcess(const ServeOptions& options, const ReadOptions& read_again,
                 const text::Stdio& streams)
      : options_(options),
        read_again_(read_again),
        streams_(streams),
        signals_({SIGTERM, SIGINT, SIGHUP}) {}
  ~WebhookProcess() override {
    if (registered_) loop_.remove(signals_.fd(), *this);
  }

  [[nodiscard]] int run() {
    auto opened =
        WebhookServer::open(loop_, options_, [this](const std::string& line) { write_(line); });
    if (!opened) return fail(opened.error());
    const std::unique_ptr<WebhookServer> server = *std::move(opened);
    server_ = server.get();
    const http::Loop::Work work(loop_);
    registered_ = loop_.try_add(signals_.fd(), *this);
    if (!registered_) return fail("signals cannot be watched");
    int status = text::kOk;
    server->start([&](const std::optional<std::string>& error) {
      if (!error) return greet();
      status = fail(*error);
      loop_.stop();
    });
    loop_.run();
    return status;
  }

 private:
  int fail(const std::string& sentence) {
    streams_.err << "damper: " << sentence << '\n';
    return text::kTrouble;
  }
  // Without a password.
  [[nodiscard]] std::string shown_store() const {
    const auto url = store::PostgresUrl::parse(options_.store);
    return url ? url->text() : options_.store;
  }
  void greet() {
    const std::string at =
        http::ListenAddress{.host = options_.listen.host, .port = server_->port()}.text();
    streams_.err << "damper webhooks: serving on http://" << at << ", store " << shown_store()
                 << ", " << server_->directory().size() << " endpoints\n"
                 << "  damper webhooks endpoints add URL        receives all messages\n"
                 << "  damper webhooks send TYPE JSON           sends one\n";
    streams_.err.flush();
  }
  void on_events(std::uint32_t /*events*/) override {
    while (const int signal = signals_.next()) {
      if (signal == SIGHUP) {
        if (!draining_) reload();
        continue;
      }
      if (draining_) return loop_.stop();
      draining_ = true;
      streams_.err << "damper webhooks: draining; a second signal ends at once\n";
      streams_.err.flush();
      server_->drain([this] { loop_.stop(); });
    }
  }

  void reload() {
    const auto fresh = read_again_();
    const auto restart =
        fresh ? server_->reload(*fresh)
              : Expected<std::vector<std::string>>(unexpected(std::string(fresh.error())));
    if (!restart) {
      return write_(log_line(run::wall_time(), "reload_failed",
                             "text=" + text::json_string(restart.error())));
    }
    std::string keys;
    for (const std::string& key : *restart) keys.append(keys.empty() ? "" : ",").append(key);
    write_(log_line(run::wall_time(), "reloaded",
                    keys.empty() ? "restart_needed=no" : "restart_needed=" + keys));
  }

  const ServeOptions& options_;
  const ReadOptions& read_again_;
  const text::Stdio& streams_;
  http::SignalFd signals_;  // before the store's threads are started
  const observe::TransitionLog::Writer write_ = observe::write_to(STDOUT_FILENO);
  http::Loop loop_;
  WebhookServer* server_ = nullptr;
  bool registered_ = false;
  bool draining_ = false;
};

}  // namespace

int run_webhooks(const ServeOptions& options, const ReadOptions& read_again,
                 const text::Stdio& streams) {
  std::signal(SIGPIPE, SIG_IGN);
  http::raise_descriptor_limit();
  try {
    return WebhookProcess(options, read_again, streams).run();
  } catch (const std::system_error& error) {
    streams.err << "damper: the dispatcher cannot run: " << error.what() << '\n';
    return text::kTrouble;
  }
}

}  // namespace damper::webhooks
