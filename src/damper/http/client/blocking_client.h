#pragma once

#include <memory>
#include <string>

#include "damper/base/instant.h"
#include "damper/http/client/client_options.h"
#include "damper/http/client/http_result.h"
#include "damper/http/codec/message.h"
#include "damper/run/dependency.h"

namespace damper::http {

// A BlockingClient is a GuardedClient for threads, such as a controller's workers. The loop runs in
// a thread of its own; the calling thread waits for the response.
//
//   BlockingClient etcd(dependency, {.endpoints = {"http://127.0.0.1:2379"}});
//   HttpResult answer = etcd.post("/v3/kv/range", body, damper::in(1s));
//
// Model: a request is posted to the loop, and inherits the deadline and the retry owner of its
// thread's Scope. So a worker's calls end by the worker's deadline, and are attempted once if the
// controller retries the key.
// Thread safety: all methods may be called concurrently. It outlives its calls.
class BlockingClient {
 public:
  // REQUIRES: !find_error(options). The dependency outlives it.
  BlockingClient(Dependency& dependency, const GuardedClientOptions& options);
  ~BlockingClient();

  [[nodiscard]] HttpResult request(Request request, const RequestOptions& options = {});
  [[nodiscard]] HttpResult get(std::string target, Instant deadline);
  [[nodiscard]] HttpResult post(std::string target, std::string body, Instant deadline);
  [[nodiscard]] HttpResult put(std::string target, std::string body, Instant deadline);
  [[nodiscard]] HttpResult del(std::string target, Instant deadline);

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace damper::http
