// An embedded dispatcher of webhooks, and an outbox: messages are written in the transactions of
// the program's own database, and delivered to an endpoint.

#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "damper/http/server/handler_service.h"
#include "damper/http/server/server.h"
#include "damper/webhooks/outbox/outbox_sinks.h"
#include "damper/webhooks/process/webhook_server.h"

namespace http = damper::http;
namespace webhooks = damper::webhooks;
using namespace std::chrono_literals;

namespace {

void run(sqlite3* db, const std::string& sql) {
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    std::cerr << sqlite3_errmsg(db) << '\n';
  }
}

// [enqueue]
// Marks the invoice as paid, and reports it: both, or nothing.
bool pay(sqlite3* db, int invoice, bool fails) {
  run(db, "BEGIN IMMEDIATE");
  run(db, "UPDATE invoice SET paid = 1 WHERE id = " + std::to_string(invoice));
  const auto key = webhooks::enqueue(
      db, {.type = "invoice.paid", .payload = "{\"id\":" + std::to_string(invoice) + "}"});
  const bool good = key && !fails;
  run(db, good ? "COMMIT" : "ROLLBACK");
  return good;
}
// [/enqueue]

// A dispatcher on a thread of its own.
class EmbeddedDispatcher {
 public:
  explicit EmbeddedDispatcher(const std::string& store) {
    // [start]
    webhooks::ServeOptions options;
    options.listen.port = 0;  // The API: any free port of loopback.
    options.store = store;
    options.dispatcher.guard.allowed.push_back(*http::Network::find("127.0.0.0/8"));
    auto opened = webhooks::WebhookServer::open(loop, options, [](const std::string& /*line*/) {});
    if (!opened) throw std::runtime_error(opened.error());
    server = *std::move(opened);
    std::promise<std::optional<std::string>> started;
    server->start([&](std::optional<std::string> error) { started.set_value(std::move(error)); });
    thread_ = std::thread([this] {
      const http::Loop::Work work(loop);
      loop.run();
    });
    if (const auto error = started.get_future().get()) throw std::runtime_error(*error);
    // [/start]
  }
  EmbeddedDispatcher(const EmbeddedDispatcher&) = delete;
  EmbeddedDispatcher& operator=(const EmbeddedDispatcher&) = delete;
  ~EmbeddedDispatcher() {
    std::promise<void> drained;
    loop.post([&] { server->drain([&] { drained.set_value(); }); });
    drained.get_future().wait();
    loop.stop();
    thread_.join();
    server.reset();
  }

  http::Loop loop;
  std::unique_ptr<webhooks::WebhookServer> server;

 private:
  std::thread thread_;
};

// An endpoint, on a thread of its own: prints what it receives.
class PrintingEndpoint {
 public:
  PrintingEndpoint()
      : service_(loop_,
                 [this](const http::ExchangePtr& exchange) {
                   std::cout << "received " << exchange->request().body << std::endl;
                   exchange->respond({.status = 204});
                   received.fetch_add(1);
                 }),
        server_(loop_, {}, service_) {
    if (const auto error = server_.listen()) std::cerr << *error << '\n';
    thread_ = std::thread([this] { loop_.run(); });
  }
  PrintingEndpoint(const PrintingEndpoint&) = delete;
  PrintingEndpoint& operator=(const PrintingEndpoint&) = delete;
  ~PrintingEndpoint() {
    loop_.stop();
    thread_.join();
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(server_.port()) + "/hook";
  }

  std::atomic<int> received{0};

 private:
  http::Loop loop_;
  http::HandlerService service_;
  http::Server server_;
  std::thread thread_;
};

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "damper-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const std::string file = folder + "/app.db";
  sqlite3* db = nullptr;
  if (sqlite3_open(file.c_str(), &db) != SQLITE_OK) return 1;
  sqlite3_busy_timeout(db, 5000);
  run(db, "CREATE TABLE invoice(id INTEGER PRIMARY KEY, paid INTEGER NOT NULL DEFAULT 0)");
  run(db, "INSERT INTO invoice(id) VALUES(7), (8)");
  if (const auto error = webhooks::create_outbox(db)) std::cerr << *error << '\n';
  std::cout << "invoice 7: " << (pay(db, 7, false) ? "committed" : "rolled back") << '\n'
            << "invoice 8: " << (pay(db, 8, true) ? "committed" : "rolled back") << std::endl;
  {
    PrintingEndpoint endpoint;
    EmbeddedDispatcher dispatcher(folder + "/webhooks.db");
    auto client = webhooks::ApiClient::open(
        {.server = "http://127.0.0.1:" + std::to_string(dispatcher.server->port())});
    const auto added =
        client->post(client->of_application("/endpoints"), "{\"url\": \"" + endpoint.url() + "\"}");
    if (!added) std::cerr << added.error().sentence << '\n';
    // [relay]
    auto relay = webhooks::OutboxRelay::start(
        {.path = file}, webhooks::embedded_sink(dispatcher.loop, *dispatcher.server));
    if (!relay) std::cerr << relay.error() << '\n';
    // [/relay]
    for (int i = 0; i < 4000 && endpoint.received.load() == 0; ++i)
      std::this_thread::sleep_for(5ms);
    relay->reset();  // before the dispatcher
  }
  sqlite3_close(db);
  std::filesystem::remove_all(folder);
}
