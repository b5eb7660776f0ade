// A server with admission control: deadlines, a concurrency limit with a shed queue, idempotency
// keys.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <thread>

#include "damper/http/idempotency/idempotency_memory.h"
#include "damper/http/idempotency/idempotent.h"
#include "damper/http/server/guard.h"
#include "damper/http/server/handler_service.h"
#include "damper/http/server/server.h"

namespace {

namespace http = damper::http;

// Stands for your clients: a request on its own connection, and its response.
class Asked {
 public:
  Asked(std::uint16_t port, const std::string& line, const std::string& headers = "",
        const std::string& body = "") {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const std::string request = line + " HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n" +
                                headers + "Content-Length: " + std::to_string(body.size()) +
                                "\r\n\r\n" + body;
    if (connect(fd_, static_cast<sockaddr*>(static_cast<void*>(&address)), sizeof address) != 0 ||
        send(fd_, request.data(), request.size(), MSG_NOSIGNAL) < 0) {
      std::cerr << "no server\n";
    }
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  ~Asked() { close(fd_); }

  // The status, and the server's reason.
  [[nodiscard]] std::string answer() const {
    std::string text;
    char byte = 0;
    while (recv(fd_, &byte, 1, 0) == 1) text += byte;
    std::string said = text.substr(9, 3);
    for (const std::string name : {"damper-verdict", "idempotency-replayed"}) {
      const std::size_t at = text.find("\r\n" + name + ": ");
      if (at == std::string::npos) continue;
      const std::size_t value = at + name.size() + 4;
      said += " " + name + ": " + text.substr(value, text.find('\r', value) - value);
    }
    return said;
  }

 private:
  int fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

http::Response reply(int status) {
  http::Response response;
  response.status = status;
  return response;
}

// [options]
http::GuardOptions options() {
  http::GuardOptions options;
  options.name = "shop";
  options.admission.limit.kind = damper::admit::LimitKind::fixed;  // `gradient` adapts
  options.admission.limit.initial = 1;                             // one at a time, for the example
  options.admission.queue.capacity = 1;
  return options;
}
// [/options]

}  // namespace

int main() {
  http::ExchangePtr slow;  // a request in progress until we answer it
  const http::Handler shop = [&](http::ExchangePtr exchange) {
    if (exchange->request().target == "/slow") {
      slow = std::move(exchange);
    } else {
      exchange->respond(reply(exchange->request().method == "POST" ? 201 : 200));
    }
  };
  // [server]
  http::Loop loop;
  http::LoopGuard door(loop, options());
  http::MemoryStore answers;
  http::HandlerService service(loop, guarded(idempotent(shop, answers), door.guard()));
  http::Server server(loop, {}, service);
  if (const auto error = server.listen()) {
    std::cerr << *error << '\n';
    return 1;
  }
  std::thread thread([&] { loop.run(); });
  // [/server]

  const std::uint16_t port = server.port();
  const auto& tally = door.guard().admission().tally();
  const auto wait_until = [](auto condition) {
    while (!condition()) std::this_thread::yield();
  };
  std::cout << "late:     " << Asked(port, "GET /", "x-request-deadline: 0\r\n").answer() << '\n';

  const std::string key = "Idempotency-Key: 7f3a\r\n";
  std::cout << "order:    " << Asked(port, "POST /orders", key, "shoes").answer() << '\n';
  std::cout << "again:    " << Asked(port, "POST /orders", key, "shoes").answer() << '\n';
  std::cout << "misused:  " << Asked(port, "POST /orders", key, "boots").answer() << '\n';

  const auto running = tally.requests(damper::Verdict::success);
  const Asked first(port, "GET /slow");  // It holds the only slot.
  wait_until([&] { return tally.requests(damper::Verdict::success) > running; });
  const Asked report(port, "GET /report", "damper-criticality: sheddable\r\n");
  wait_until([&] { return tally.depth == 1; });  // It is in the queue.
  const Asked checkout(port, "GET /checkout");   // More critical: it evicts the report.
  std::cout << "report:   " << report.answer() << '\n';
  loop.post([&] { slow->respond(reply(200)); });
  std::cout << "slow:     " << first.answer() << '\n';
  std::cout << "checkout: " << checkout.answer() << '\n';

  loop.stop();
  thread.join();
  slow.reset();
}
