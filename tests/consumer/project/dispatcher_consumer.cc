// A minimal user of the installed damper::dispatcher: a dispatcher that accepts one message, and an
// outbox. dispatcher_consumer FILE
#include <damper/webhooks/outbox/outbox.h>
#include <damper/webhooks/process/webhook_server.h>

#include <cstdio>

int main(int count, char** arguments) {
  namespace webhooks = damper::webhooks;
  if (count != 2) return 2;
  damper::http::Loop loop;
  webhooks::ServeOptions options;
  options.listen.port = 0;
  options.store = arguments[1];
  auto server = webhooks::WebhookServer::open(loop, options, [](const std::string&) {});
  if (!server) return 1;
  bool accepted = false;
  (*server)->start([&](std::optional<std::string> error) {
    if (error) return loop.stop();
    (*server)->send({.application = "default", .type = "a", .payload = "1"}, [&](auto result) {
      accepted = static_cast<bool>(result);
      loop.stop();
    });
  });
  const damper::http::Loop::Work work(loop);
  loop.run();
  sqlite3* database = nullptr;
  if (sqlite3_open(":memory:", &database) != SQLITE_OK) return 1;
  const bool created = !webhooks::create_outbox(database);
  const bool queued = static_cast<bool>(webhooks::enqueue(database, {.type = "a", .payload = "1"}));
  sqlite3_close(database);
  std::printf("accepted %d, queued %d\n", accepted, created && queued);
  return accepted && created && queued ? 0 : 1;
}
