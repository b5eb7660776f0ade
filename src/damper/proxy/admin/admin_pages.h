#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/admit/circuit_breaker.h"
#include "damper/admit/switches.h"
#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/http/codec/message.h"
#include "damper/http/server/local_access.h"
#include "damper/observe/registry.h"
#include "damper/proxy/config/route_matcher.h"
#include "damper/proxy/data/proxy_state.h"

namespace damper::observe {
class Counter;
}

namespace damper::proxy {

// The reason why a reload changed nothing.
struct ReloadRefusal {
  std::string sentence;
  bool conflict = false;  // there is no file to reload, or it is not in force
};

// An AdminTarget is what an AdminServer shows and controls: a ProxyAdmin (proxy/process), or a fake
// of a test.
//
// Thread safety: called concurrently by threads of the admin server. flip(), switches(), force()
// and forced() do not wait for a loop of the data plane; the other methods may.
class AdminTarget {
 public:
  [[nodiscard]] virtual ProxyState state() = 0;
  // The policy in force with all defaults, as YAML.
  [[nodiscard]] virtual std::string policy() = 0;
  // Outlives the admin server.
  [[nodiscard]] virtual observe::Registry& registry() = 0;
  // One sentence: the reason why it accepts no traffic.
  [[nodiscard]] virtual std::optional<std::string> find_unready() = 0;
  // One sentence: the scope does not exist.
  [[nodiscard]] virtual std::optional<std::string> flip(const SwitchScope& scope,
                                                        admit::Switch which,
                                                        const admit::SwitchSetting& setting) = 0;
  [[nodiscard]] virtual std::vector<ScopeState> switches() = 0;
  // One sentence: there is no such breaker.
  [[nodiscard]] virtual std::optional<std::string> force(
      const SwitchScope& scope, const std::string& replica,
      const admit::BreakerForceSetting& setting) = 0;
  [[nodiscard]] virtual std::vector<ForcedBreaker> forced() = 0;
  // Reloads the configuration and returns its version.
  [[nodiscard]] virtual Expected<std::uint64_t, ReloadRefusal> reload() = 0;

 protected:
  ~AdminTarget() = default;
};

// The thread that answers a request: the admin loop, or the SerialExecutor for reads, reloads or
// flips. A read that waits for the data plane never delays a flip.
enum class AdminThread : std::uint8_t { loop, reads, reloads, flips };
inline constexpr std::size_t kAdminThreads = 4;

// AdminPages answers the admin server's requests, except the event stream:
//   GET  /           an index page
//   GET  /healthz    200 while the process runs
//   GET  /readyz     200, or 503 with the reason
//   GET  /metrics    Prometheus text format
//   GET  /policy     the policy in force with all defaults, as YAML
//   GET  /state      budgets, breakers, limits, pools, as JSON (state_json.h)
//   GET  /switches   every scope's switches; PUT flips one (orders.h) and answers the same
//   GET  /breakers   the breakers that are held by hand; PUT forces or resets one
//                    (orders.h) and answers the same
//   POST /reload     reloads the configuration: {"version":8}, or 400 with the reason
// GET implies HEAD. An unknown path is 404 with the list of paths, a wrong method 405 with Allow, a
// refusal one sentence in plain text.
//
// Invariants:
//   (1) A request that LocalAccess refuses changes nothing.
//   (2) No response can be framed, cached, sniffed for another type, or read by another origin.
// Thread safety: all methods may be called concurrently.
class AdminPages {
 public:
  using Clock = std::function<Instant()>;

  // The target outlives it.
  AdminPages(AdminTarget& target, const http::AccessOptions& access, Clock now);

  // The thread on which answer() has to be called.
  [[nodiscard]] static AdminThread thread_of(const http::Request& request) noexcept;
  // An exception of the target becomes a 500.
  [[nodiscard]] http::Response answer(const http::Request& request);
  // Whether the request may read; for handlers outside of answer().
  [[nodiscard]] bool may_look(const http::Head& request) const {
    return !access_.check_visit(request);
  }

  void set_token_file(std::string file) { access_.set_token_file(std::move(file)); }

 private:
  [[nodiscard]] http::Response answer_known(const http::Request& request);
  [[nodiscard]] http::Response refused(const http::AccessRefusal& refusal);
  [[nodiscard]] http::Response flip(const http::Request& request);
  [[nodiscard]] http::Response force(const http::Request& request);
  [[nodiscard]] http::Response reload();

  AdminTarget& target_;
  http::LocalAccess access_;
  const Clock now_;
  std::array<observe::Counter*, http::kAccessReasonNames.size()> refused_{};
};

// A response with one sentence in plain text.
[[nodiscard]] http::Response plain_answer(int status, std::string_view sentence);

}  // namespace damper::proxy
