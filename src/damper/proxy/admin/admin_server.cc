#include "damper/proxy/admin/admin_server.h"

#include <system_error>
#include <utility>

#include "damper/base/bounds.h"
#include "damper/http/server/local_access.h"
#include "damper/run/clock.h"

namespace damper::proxy {
namespace {

http::ServerOptions server_options(const AdminOptions& options) {
  http::ServerOptions server;
  server.address = options.address;
  server.port = options.port;
  server.adopt_fd = options.adopt_fd;
  server.max_connections = AdminServer::kMostConnections;
  server.uses_reserve = true;
  server.limits.max_head_bytes = std::size_t{16} * 1024;
  return server;
}

http::AccessOptions access_options(const AdminOptions& options) {
  return {.loopback = http::is_loopback(options.address),
          .token_file = options.token_file,
          .names = options.names};
}

std::optional<std::string> find_token_error(const std::string& file) {
  if (file.empty()) return std::nullopt;
  const auto token = http::read_token(file);
  return token ? std::nullopt : std::optional(token.error());
}

}  // namespace

std::optional<std::string> find_error(const AdminOptions& options) {
  if (auto error = http::find_error(server_options(options))) return error;
  if (auto error = BoundsCheck()
                       .field("heartbeat", options.heartbeat,
                              {std::chrono::milliseconds(1), std::chrono::hours(1)})
                       .field("most_subscribers", options.most_subscribers, {1, 1000})
                       .error()) {
    return error;
  }
  return find_token_error(options.token_file);
}

// A request, of which only its head says who is to answer it.
class AdminServer::Visitor final : public http::StreamUser {
 public:
  Visitor(AdminServer& server, http::Stream& stream) : server_(server), stream_(stream) {}

  void on_head(const http::Head& head, bool end) override {
    user_ = &server_.choose(stream_, head, [this] { delete this; });
    user_->on_head(head, end);
  }
  void on_data(std::string_view bytes) override { user_->on_data(bytes); }
  void on_end(std::span<const http::Field> trailers) override { user_->on_end(trailers); }
  void on_writable() override {
    if (user_ != nullptr) user_->on_writable();
  }
  void on_close(http::CloseReason reason) override {
    if (user_ != nullptr) user_->on_close(reason);
    delete this;
  }

 private:
  AdminServer& server_;
  http::Stream& stream_;
  http::StreamUser* user_ = nullptr;  // its own
};

AdminServer::AdminServer(const AdminOptions& options, AdminTarget& target, EventFeed& feed)
    : pages_(target, access_options(options), run::now),
      metrics_(target.registry(), "admin"),
      busy_(target.registry().counter("damper_admin_busy_total",
                                      "Requests to the admin server that found too many before.")),
      service_(
          loop_, [this](const http::ExchangePtr& exchange) { answer(exchange); },
          {.max_request_body = kMostBody, .max_gathered_bytes = 16 * kMostBody}, &metrics_),
      streams_(loop_, feed, target.registry(),
               {.heartbeat = options.heartbeat, .most = options.most_subscribers}),
      work_(loop_),
      server_(std::in_place, loop_, server_options(options), static_cast<http::RequestSink&>(*this),
              &metrics_) {}

AdminServer::~AdminServer() {
  for (auto& executor : executors_) executor.reset();  // After this the target is not used.
  if (!thread_.joinable()) return;
  loop_.post([this] {
    server_.reset();
    loop_.stop();
  });
  thread_.join();
}

// One sentence: why it does not listen.
std::optional<std::string> AdminServer::listen() {
  if (auto error = server_->listen()) return error;
  port_ = server_->port();
  for (const AdminThread thread : {AdminThread::reads, AdminThread::reloads, AdminThread::flips}) {
    executors_[static_cast<std::size_t>(thread)].emplace(kMostWaiting);
  }
  thread_ = std::thread([this] { loop_.run(); });
  return std::nullopt;
}

http::StreamUser& AdminServer::on_request(http::Stream& stream) {
  return *new Visitor(*this, stream);
}

http::StreamUser& AdminServer::choose(http::Stream& stream, const http::Head& head,
                                      std::function<void()> on_cut) {
  const bool follows =
      head.method == "GET" && path_of(head.target) == "/events" && pages_.may_look(head);
  if (follows && !streams_.is_full()) return streams_.subscribe(stream, head, std::move(on_cut));
  if (follows) streams_.on_refused();
  return service_.on_request(stream);
}

void AdminServer::answer(const http::ExchangePtr& exchange) {
  const http::Request& request = exchange->request();
  const AdminThread thread = AdminPages::thread_of(request);
  if (thread == AdminThread::loop) return exchange->respond(answer_here(request));
  auto& executor = executors_[static_cast<std::size_t>(thread)];
  const bool taken = executor->try_post([this, exchange] {
    auto response = std::make_shared<http::Response>(pages_.answer(exchange->request()));
    exchange->post([exchange, response] { exchange->respond(std::move(*response)); });
  });
  if (taken) return;
  busy_.add();
  http::Response response = plain_answer(503, "too many requests at once; retry after a second");
  response.fields.add("retry-after", "1");
  exchange->respond(std::move(response));
}

http::Response AdminServer::answer_here(const http::Request& request) {
  const bool follows = request.method == "GET" && path_of(request.target) == "/events";
  if (!follows || !pages_.may_look(request.head())) return pages_.answer(request);
  http::Response response = plain_answer(503, "too many follow the events already");
  response.fields.add("retry-after", "5");
  return response;
}

Expected<std::unique_ptr<AdminServer>> AdminServer::start(const AdminOptions& options,
                                                          AdminTarget& target, EventFeed& feed) {
  if (auto error = find_error(options)) return unexpected("admin: " + *std::move(error));
  try {
    std::unique_ptr<AdminServer> server(new AdminServer(options, target, feed));
    if (auto error = server->listen()) return unexpected("admin: " + *std::move(error));
    return server;
  } catch (const std::system_error& error) {
    return unexpected(std::string("admin: it cannot be started: ") + error.what());
  }
}

std::optional<std::string> AdminServer::set_token_file(const std::string& file) {
  if (auto error = find_token_error(file)) return "admin: " + *std::move(error);
  pages_.set_token_file(file);
  return std::nullopt;
}

}  // namespace damper::proxy
