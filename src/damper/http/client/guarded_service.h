#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "damper/http/client/client_metrics.h"
#include "damper/http/client/client_options.h"
#include "damper/http/client/completion.h"
#include "damper/http/client/http_result.h"
#include "damper/http/client/pool.h"
#include "damper/http/client/replicas.h"
#include "damper/http/client/waiting_line.h"
#include "damper/run/dependency.h"
#include "damper/run/outgoing_fields.h"

namespace damper::http {

class GuardedCall;

// Returns the new body from the response that was read.
using Modify = std::function<std::string(const Response&)>;

// A GuardedService is what the calls of one GuardedClient share: pools, replicas, and the list of
// calls under way. A GuardedClient adds completion tokens to it.
// Thread safety: none; all on the loop's thread.
class GuardedService {
 public:
  // REQUIRES: !find_error(options). The loop and the dependency outlive it.
  GuardedService(Loop& loop, Dependency& dependency, const GuardedClientOptions& options);
  GuardedService(const GuardedService&) = delete;
  GuardedService& operator=(const GuardedService&) = delete;
  ~GuardedService();

  // With `modify` the request is a GET whose response is modified and written back.
  void start(Request&& request, const RequestOptions& options, Modify&& modify,
             std::unique_ptr<Completion<HttpResult>> completion);

  [[nodiscard]] Loop& loop() const noexcept { return loop_; }
  [[nodiscard]] Dependency& dependency() const noexcept { return dependency_; }
  [[nodiscard]] Replicas& replicas() noexcept { return replicas_; }
  [[nodiscard]] Pool& pool(std::size_t replica) noexcept { return *pools_[replica]; }
  [[nodiscard]] const GuardedClientOptions& options() const noexcept { return options_; }
  [[nodiscard]] const ClientMetrics& metrics() const noexcept { return metrics_; }
  [[nodiscard]] std::size_t calls() const noexcept { return calls_.size(); }

 private:
  friend class GuardedCall;

  Loop& loop_;
  Dependency& dependency_;
  const GuardedClientOptions options_;
  ClientMetrics metrics_;
  Dialer dialer_;
  std::optional<TlsSettings> tls_;
  Replicas replicas_;
  std::vector<std::unique_ptr<Pool>> pools_;  // by replica
  std::string owner_;                         // the dependency's name, if it can be a header
  std::vector<Field> scratch_;                // the fields of the head that is being written
  run::OutgoingFields outgoing_;
  WaitingLine waiting_;    // calls in a backoff
  CancellableList calls_;  // under way; cancelled before the rest is destroyed
};

}  // namespace damper::http
