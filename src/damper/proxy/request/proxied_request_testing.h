#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "damper/http/client/client.h"
#include "damper/http/net/net_testing.h"
#include "damper/http/server/server.h"
#include "damper/proxy/data/route_admission.h"
#include "damper/proxy/request/proxied_request.h"
#include "damper/run/clock.h"

namespace damper::proxy {

// Something later on a loop.
class Later final : public http::Loop::Timer {
 public:
  Later(http::Loop& loop, Duration delay, std::function<void()> work)
      : Timer(loop), work_(std::move(work)) {
    arm(add(loop.now(), delay));
  }

 private:
  void on_timer(Instant) override { work_(); }
  std::function<void()> work_;
};

// A Backend answers as the test says, in pieces if it wants.
class Backend {
 public:
  // One request. It lives as long as the backend.
  class Visit final : public http::StreamUser {
   public:
    Visit(Backend& backend, http::Stream& stream) : backend_(backend), stream_(&stream) {}

    void respond(int status, std::string body = {}, http::FieldList fields = {},
                 http::FieldList last = {}) {
      if (stream_ == nullptr) return;
      http::Response response{.status = status, .fields = std::move(fields)};
      http::Head head = response.head();
      head.content_length.reset();
      if (last.empty()) head.content_length = body.size();
      send_head(head, body.empty() && last.empty());
      if (!body.empty() || !last.empty()) say(body, true, std::move(last));
    }
    void send_head(const http::Head& head, bool end = false) {
      if (stream_ != nullptr) stream_->send_head(head, end);
    }
    // More of the body; with `end` it is whole then.
    void say(const std::string& bytes, bool end = false, http::FieldList last = {}) {
      unsent_ += bytes;
      ends_ = end;
      trailers_ = std::move(last);
      on_writable();
    }
    void hint(int status, const http::FieldList& fields = {}) {
      if (stream_ != nullptr) stream_->send_interim({.status = status, .fields = fields.view()});
    }
    void cancel() {
      if (stream_ != nullptr) std::exchange(stream_, nullptr)->cancel();
    }
    void later(Duration delay, std::function<void(Visit&)> work) {
      later_.emplace(backend_.loop_, delay, [this, work = std::move(work)] { work(*this); });
    }
    void consume(std::size_t bytes) {
      if (stream_ != nullptr) stream_->consumed(bytes);
    }

    http::Request request;
    http::FieldList trailers;  // the request's
    std::size_t received = 0;  // of its body
    bool whole = false;        // the request
    bool consumes = true;
    std::optional<http::CloseReason> closed;
    [[nodiscard]] std::size_t unsent() const { return unsent_.size() - sent_; }

    [[nodiscard]] std::string field(std::string_view name) const {
      return std::string(request.fields.find(name).value_or("-"));
    }

   private:
    void on_head(const http::Head& head, bool end) override {
      request = http::Request::from(head);
      whole = end;
      if (backend_.on_head) backend_.on_head(*this);
      if (end && backend_.on_request) backend_.on_request(*this);
    }
    void on_data(std::string_view bytes) override {
      received += bytes.size();
      if (request.body.size() < 100'000) request.body += bytes;
      if (backend_.on_data) backend_.on_data(*this, bytes);
      if (consumes && stream_ != nullptr) stream_->consumed(bytes.size());
    }
    void on_end(std::span<const http::Field> fields) override {
      trailers = http::FieldList(fields);
      if (std::exchange(whole, true)) {
        if (backend_.on_tunnel_end) backend_.on_tunnel_end(*this);
        return;
      }
      if (backend_.on_request) backend_.on_request(*this);
    }
    void on_writable() override {
      if (stream_ == nullptr) return;
      if (unsent() > 0) {
        const bool end = ends_ && trailers_.empty();
        sent_ += stream_->send_data(std::string_view(unsent_).substr(sent_), end);
        if (unsent() > 0 || trailers_.empty()) return;
      } else if (ends_ && trailers_.empty()) {
        (void)stream_->send_data({}, true);
      }
      if (ends_ && !trailers_.empty()) stream_->send_trailers(trailers_.view());
    }
    void on_close(http::CloseReason reason) override {
      stream_ = nullptr;
      closed = reason;
      later_.reset();
      if (backend_.on_over) backend_.on_over(*this);
    }

    Backend& backend_;
    http::Stream* stream_;
    bool ends_ = false;
    std::string unsent_;
    std::size_t sent_ = 0;  // of it
    http::FieldList trailers_;
    std::optional<Later> later_;
  };

  explicit Backend(http::Loop& loop, std::function<void(Visit&)> handler = {})
      : on_request(std::move(handler)), loop_(loop), server_(loop, {}, sink_) {
    const auto error = server_.listen();
    EXPECT_FALSE(error) << *error;
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(server_.port());
  }
  [[nodiscard]] std::size_t requests() const { return visits.size(); }

  std::function<void(Visit&)> on_head;
  std::function<void(Visit&)> on_request;  // it is whole
  std::function<void(Visit&, std::string_view)> on_data;
  std::function<void(Visit&)> on_tunnel_end;
  std::function<void(Visit&)> on_over;
  std::list<Visit> visits;

 private:
  http::Loop& loop_;
  struct Sink final : http::RequestSink {
    explicit Sink(Backend& b) : backend(b) {}
    [[nodiscard]] http::StreamUser& on_request(http::Stream& stream) override {
      return backend.visits.emplace_back(backend, stream);
    }
    Backend& backend;
  } sink_{*this};
  http::Server server_;
};

// A client that says and hears in pieces.
class Talker final : public http::PoolUser {
 public:
  explicit Talker(http::Client& client) : client_(client) {}

  void open(const std::string& url, http::Request request, bool ends = true) {
    request_ = std::move(request);
    ends_ = ends;
    client_.open(*http::parse_endpoint(url), *this);
  }
  void say(const std::string& bytes, bool end = false) {
    unsent_ += bytes;
    ends_ = end;
    on_writable();
  }
  void consume(std::size_t bytes) { stream_->consumed(bytes); }

  http::Response response;
  std::string hints;                    // "103 </a>; " for each interim answer
  std::string upgrade;                  // what it asks for
  http::FieldList trailers;             // what it says at its end
  std::optional<std::uint64_t> length;  // of a body that it says in pieces, if it is announced
  std::size_t received = 0;
  bool answered = false;
  bool whole = false;
  bool consumes = true;
  std::optional<http::CloseReason> closed;
  [[nodiscard]] std::size_t unsent() const { return unsent_.size() - sent_; }

 private:
  void on_open(http::Stream& stream) override {
    stream_ = &stream;
    http::Head head = request_.head();
    head.scheme = "http";
    head.upgrade = upgrade;
    const bool is_all = ends_ && unsent() == 0 && trailers.empty();
    if (!is_all) head.content_length = length;
    stream.send_head(head, is_all);
    on_writable();
  }
  void on_interim(const http::Head& head) override {
    hints += std::to_string(head.status) + " ";
    hints += std::string(http::find(head.fields, "link").value_or("-")) + "; ";
  }
  void on_head(const http::Head& head, bool end) override {
    response = http::Response::from(head);
    answered = true;
    whole = end;
  }
  void on_data(std::string_view bytes) override {
    received += bytes.size();
    if (response.body.size() < 100'000) response.body += bytes;
    if (consumes) stream_->consumed(bytes.size());
  }
  void on_end(std::span<const http::Field> fields) override {
    response.trailers = http::FieldList(fields);
    whole = true;
  }
  void on_writable() override {
    if (stream_ == nullptr) return;
    const std::string_view rest = std::string_view(unsent_).substr(sent_);
    if (!rest.empty()) sent_ += stream_->send_data(rest, ends_ && trailers.empty());
    if (!ends_ || unsent() > 0 || trailers.empty()) return;
    stream_->send_trailers(std::exchange(trailers, {}).view());
  }
  void on_over(http::CloseReason reason, bool) override {
    stream_ = nullptr;
    closed = reason;
  }

  http::Client& client_;
  http::Request request_;
  http::Stream* stream_ = nullptr;
  bool ends_ = true;
  std::string unsent_;
  std::size_t sent_ = 0;  // of it
};

// What an AccessRecord said.
struct Recorded {
  std::string method, target, route, replica, traceparent;
  std::string client, protocol, user_agent, request_id;
  int status = 0;
  std::optional<int> grpc_status;
  Verdict verdict = Verdict::none;
  http::CloseReason ended = http::CloseReason::finished;
  std::uint32_t attempts = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0;
  Duration took{0};
};

// A Stage is a proxy with one route and its backends, and a client, all on one loop.
class Stage final : private AccessSink {
 public:
  // Safe defaults, but quick: a backoff of a millisecond, a budget that does not matter.
  Stage() {
    route.name = "shop";
    route.cluster = "shops";
    route.settings.policy.call.timeout = std::chrono::seconds(60);  // No machine is that slow.
    route.settings.policy.call.backoff.base = std::chrono::milliseconds(1);
    route.settings.policy.call.backoff.cap = std::chrono::milliseconds(5);
    route.settings.policy.budget.percent = Percent(1000);
    cluster.name = "shops";
  }
  ~Stage() {
    server_.reset();
    clients_.clear();
  }

  // ---- Before begin()
  Backend& add(std::function<void(Backend::Visit&)> handler = {}) {
    Backend& backend = backends.emplace_back(loop, std::move(handler));
    cluster.endpoints.push_back(backend.url());
    return backend;
  }
  void begin() {
    auto config = std::make_shared<ProxyConfig>();
    config->clusters = {cluster};
    config->routes = {route};
    const Instant now = loop.now();
    shared = std::make_shared<SharedRoute>(
        route, std::make_shared<SharedCluster>(cluster, nullptr, now), now);
    upstream = std::make_shared<Upstream>(
        loop, Upstream::Setting{.config = cluster, .tls = no_tls_, .addresses = no_addresses_});
    if (route.admission) admission = std::make_shared<RouteAdmission>(loop, *route.admission);
    if (route.client_rate_limit) {
      client_rates = std::make_shared<http::ClientRates>(route.client_rate_limit->rates);
    }
    auto table = std::make_shared<LoopTable>(
        LoopTable{.config = config, .matcher = RouteMatcher(config->routes), .routes = {}});
    table->routes.push_back({.config = &config->routes[0],
                             .shared = shared,
                             .upstream = upstream,
                             .admission = admission,
                             .client_rates = client_rates});
    table->kept = kept;
    sink.emplace(loop, std::move(table), static_cast<AccessSink&>(*this));
    listener_.emplace(*sink, ListenerRules{.trust = trust, .paths = paths});
    server_.emplace(loop, http::ServerOptions{.limits = limits}, *listener_);
    const auto error = server_->listen();
    EXPECT_FALSE(error) << *error;
    url = "http://127.0.0.1:" + std::to_string(server_->port());
  }

  // ---- After
  http::Client& client() {
    if (clients_.empty()) {
      http::ClientOptions options;
      options.pool.plain = client_protocol;
      options.max_response_body = std::size_t{64} << 20;
      clients_.push_back(std::make_unique<http::Client>(loop, options));
    }
    return *clients_.back();
  }
  http::Request make(std::string method, const std::string& target, std::string body = {},
                     http::FieldList fields = {}) const {
    http::Request request =
        http::make_request(std::move(method), *http::parse_url(url + target), std::move(body));
    request.fields = std::move(fields);
    return request;
  }
  // Sends it and runs the loop until the answer is there, and the proxy is done with it.
  Result<http::Response> fetch(http::Request request) {
    std::optional<Result<http::Response>> result;
    client().fetch(std::move(request), in(std::chrono::seconds(60)),
                   [&](Result<http::Response> got) {
                     result.emplace(std::move(got));
                     loop.stop();
                   });
    const http::Watchdog watchdog(loop);
    while (!result) loop.run();
    return *std::move(result);
  }
  Result<http::Response> get(const std::string& target = "/", http::FieldList fields = {}) {
    return fetch(make("GET", target, {}, std::move(fields)));
  }
  // Runs the loop until `done` says so; asked at the end of turns.
  void run_until(const std::function<bool()>& done) {
    class Look final : public http::Loop::Timer {
     public:
      Look(http::Loop& on, const std::function<bool()>& asks) : Timer(on), done(asks) { again(); }
      void again() { arm(damper::add(run::now(), std::chrono::microseconds(200))); }
      const std::function<bool()>& done;

     private:
      void on_timer(Instant) override { done() ? loop().stop() : again(); }
    } look(loop, done);
    const http::Watchdog watchdog(loop);
    if (!done()) loop.run();
    EXPECT_TRUE(done());
  }
  void run_for(Duration length) {
    const Instant end = damper::add(run::now(), length);
    run_until([end] { return run::now() >= end; });
  }
  // Waits until no request is under way; the last record.
  const Recorded& record() {
    run_until([this] { return sink->under_way() == 0; });
    EXPECT_FALSE(records.empty());
    if (records.empty()) records.emplace_back();
    return records.back();
  }
  void stop_listening() { server_.reset(); }

  http::Loop loop;
  std::list<Backend> backends;
  RouteConfig route;
  ClusterConfig cluster;
  Trust trust = Trust::all();
  PathRules paths{};
  http::ConnectionLimits limits{.message_timeout = Duration{0}};
  http::Protocol client_protocol = http::Protocol::h1;
  std::shared_ptr<SharedRoute> shared;
  std::shared_ptr<Upstream> upstream;
  std::shared_ptr<http::ClientRates> client_rates;
  std::shared_ptr<RouteAdmission> admission;
  std::shared_ptr<KeptBytes> kept;  // nullptr: no bound
  std::optional<RequestFactory> sink;
  std::string url;
  std::vector<Recorded> records;
  std::vector<std::string> refused;  // "400 malformed 127.0.0.1 HTTP/1.1"

 private:
  void on_request_over(const AccessRecord& r) noexcept override {
    records.push_back({.method = std::string(r.method),
                       .target = std::string(r.target),
                       .route = std::string(r.route),
                       .replica = std::string(r.replica),
                       .traceparent = std::string(r.traceparent),
                       .client = std::string(r.client),
                       .protocol = std::string(r.protocol),
                       .user_agent = std::string(r.user_agent),
                       .request_id = std::string(r.request_id),
                       .status = r.status,
                       .grpc_status = r.grpc_status,
                       .verdict = r.verdict,
                       .ended = r.ended,
                       .attempts = r.attempts,
                       .bytes_in = r.bytes_in,
                       .bytes_out = r.bytes_out,
                       .took = r.took});
  }

  void on_request_refused(const AccessRecord& r) noexcept override {
    refused.push_back(std::to_string(r.status) + " " + std::string(http::name(r.ended)) + " " +
                      std::string(r.client) + " " + std::string(r.protocol));
  }

  std::optional<http::TlsSettings> no_tls_;
  Addresses no_addresses_;
  std::optional<ListenerSink> listener_;
  std::optional<http::Server> server_;
  std::vector<std::unique_ptr<http::Client>> clients_;
};

}  // namespace damper::proxy
