#ifndef DAMPER_PROXY_ADMIN_ADMIN_PAGES_H_
#define DAMPER_PROXY_ADMIN_ADMIN_PAGES_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "damper/base/instant.h"
#include "damper/http/codec/message.h"
#include "damper/proxy/admin/admin_access.h"
#include "damper/proxy/admin/administered.h"

namespace damper::observe {
class Counter;
}

namespace damper::proxy {

// Who answers a request: the loop itself, or one of the clerks. What may wait for the data plane
// does not stand before what may not.
enum class Desk : std::uint8_t { loop, reads, reloads, flips };
inline constexpr std::size_t kDesks = 4;

// AdminPages answers the admin server's requests, all but the stream of events:
//   GET  /           an index, for people
//   GET  /healthz    200: the process lives
//   GET  /readyz     200, or 503 and why it takes no traffic
//   GET  /metrics    Prometheus' text
//   GET  /policy     every value in force, as YAML
//   GET  /state      budgets, breakers, limits, pools, as JSON (state_json.h)
//   GET  /switches   every scope's switches; PUT flips one (switch_order.h) and answers the same
//   POST /reload     reads the configuration again: {"version":8}; 400 and why it changed nothing
// GET has HEAD with it. An unknown path is 404 with the list, a wrong method 405 with Allow, a
// refusal a sentence in plain text.
//
// Invariants:
//   (1) Nothing is changed by a request that AdminAccess refuses.
//   (2) No answer can be framed, kept by a cache, sniffed for another type, or read by a page of
//       another origin.
// Thread safety: all methods may be called concurrently. Cost: that of what is asked for.
class AdminPages {
 public:
  using Clock = std::function<Instant()>;

  // What is administered outlives it.
  AdminPages(Administered& administered, const AccessOptions& access, Clock now);

  // At which desk answer() is to be called.
  [[nodiscard]] static Desk desk(const http::Request& request) noexcept;
  // Never throws but for want of memory: what throws inside is a 500.
  [[nodiscard]] http::Response answer(const http::Request& request);
  // For who answers by itself: whether this visitor may look at all.
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

  Administered& administered_;
  AdminAccess access_;
  const Clock now_;
  std::array<observe::Counter*, kAccessReasonNames.size()> refused_{};
};

// A sentence as an answer, in plain text.
[[nodiscard]] http::Response plain_answer(int status, std::string_view sentence);

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_ADMIN_ADMIN_PAGES_H_
