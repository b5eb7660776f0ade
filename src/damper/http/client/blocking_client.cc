#include "damper/http/client/blocking_client.h"

#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "damper/http/client/guarded_client.h"
#include "damper/http/net/loop.h"
#include "damper/run/inherited.h"
#include "damper/run/scope.h"

namespace damper::http {

class BlockingClient::Inside {
 public:
  Inside(Dependency& dependency, const GuardedClientOptions& options)
      : client_(loop_, dependency, options), work_(loop_), thread_([this] { loop_.run(); }) {}
  ~Inside() {
    loop_.stop();
    thread_.join();
  }

  HttpResult request(Request request, const RequestOptions& options) {
    // Shared: set_value() may still be returning there when the result is taken here.
    const auto promise = std::make_shared<std::promise<HttpResult>>();
    std::future<HttpResult> result = promise->get_future();
    loop_.post([&, promise, inherited = run::Scope::take_along()] {
      const run::Scope inside(inherited);
      client_.request(std::move(request), options,
                      [promise](HttpResult answer) { promise->set_value(std::move(answer)); });
    });
    return result.get();
  }

 private:
  Loop loop_;
  GuardedClient client_;
  Loop::Work work_;
  std::thread thread_;
};

BlockingClient::BlockingClient(Dependency& dependency, const GuardedClientOptions& options)
    : inside_(std::make_unique<Inside>(dependency, options)) {}
BlockingClient::~BlockingClient() = default;

HttpResult BlockingClient::request(Request request, const RequestOptions& options) {
  return inside_->request(std::move(request), options);
}
HttpResult BlockingClient::get(std::string target, Instant deadline) {
  return request(GuardedClient::make("GET", std::move(target)), {.deadline = deadline});
}
HttpResult BlockingClient::post(std::string target, std::string body, Instant deadline) {
  return request(GuardedClient::make("POST", std::move(target), std::move(body)),
                 {.deadline = deadline});
}
HttpResult BlockingClient::put(std::string target, std::string body, Instant deadline) {
  return request(GuardedClient::make("PUT", std::move(target), std::move(body)),
                 {.deadline = deadline});
}
HttpResult BlockingClient::del(std::string target, Instant deadline) {
  return request(GuardedClient::make("DELETE", std::move(target)), {.deadline = deadline});
}

}  // namespace damper::http
