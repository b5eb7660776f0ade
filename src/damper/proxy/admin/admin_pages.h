#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "damper/base/instant.h"
#include "damper/http/codec/message.h"
#include "damper/proxy/admin/admin_access.h"
#include "damper/proxy/admin/admin_target.h"

namespace damper::observe {
class Counter;
}

namespace damper::proxy {

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
//   GET  /switches   every scope's switches; PUT flips one (switch_order.h) and answers the same
//   POST /reload     reloads the configuration: {"version":8}, or 400 with the reason
// GET implies HEAD. An unknown path is 404 with the list of paths, a wrong method 405 with Allow, a
// refusal one sentence in plain text.
//
// Invariants:
//   (1) A request that AdminAccess refuses changes nothing.
//   (2) No response can be framed, cached, sniffed for another type, or read by another origin.
// Thread safety: all methods may be called concurrently.
class AdminPages {
 public:
  using Clock = std::function<Instant()>;

  // The target outlives it.
  AdminPages(AdminTarget& target, const AccessOptions& access, Clock now);

  // The thread on which answer() has to be called.
  [[nodiscard]] static AdminThread thread_of(const http::Request& request) noexcept;
  // An exception of the target becomes a 500.
  [[nodiscard]] http::Response answer(const http::Request& request);
  // Whether the request may read; for handlers outside of answer().
  [[nodiscard]] bool may_look(const http::Head& request) const {
    return !access_.check_visit(request);
  }

  void set_token_file(std::string file) { access_.set_token_file(std::move(file)); }

  // The path of a target, without its query.
  [[nodiscard]] static std::string_view path_of(std::string_view target) noexcept {
    return target.substr(0, target.find('?'));
  }

 private:
  [[nodiscard]] http::Response answer_known(const http::Request& request);
  [[nodiscard]] http::Response refused(const AccessRefusal& refusal);
  [[nodiscard]] http::Response flip(const http::Request& request);
  [[nodiscard]] http::Response reload();

  AdminTarget& target_;
  AdminAccess access_;
  const Clock now_;
  std::array<observe::Counter*, kAccessReasonNames.size()> refused_{};
};

// A response with one sentence in plain text.
[[nodiscard]] http::Response plain_answer(int status, std::string_view sentence);

}  // namespace damper::proxy
