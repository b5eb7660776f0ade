#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/http/net/loop.h"
#include "damper/http/server/admission.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/config/route_matcher.h"
#include "damper/proxy/data/shared.h"
#include "damper/proxy/data/shared_admission.h"
#include "damper/proxy/data/upstream.h"

namespace damper::proxy {

// A RouteAdmission is a route's http::Admission on one loop: it admits, queues or refuses requests.
//
// Model: the slots belong to the SharedAdmission, for all loops together; the queue is this loop's.
// While its queue is not empty, it has at most one outstanding request for a slot. A granted slot
// is handed to the next waiter at the end of the loop's turn, so that a waiter never starts inside
// another request's completion.
// Invariants: those of Admission and of SharedAdmission; and
//   (1) A request that got `waits` is called once, on_admitted() or on_refused(), unless it leaves
//       before.
//   (2) on_admitted() and on_refused() are called by the loop alone.
// Thread safety: none; one loop. admission().tally() may be read by any thread.
// Cost: no allocation, except for the list of requests that are refused together.
class RouteAdmission final : private http::Loop::Timer,
                             private http::Loop::TurnEnd,
                             private SharedAdmission::Side {
 public:
  // A request at the route. REQUIRES: it is not moved or destroyed until leave() or on_refused().
  class Request : public http::Admission::Item {
   public:
    virtual void on_admitted(Instant now) = 0;
    virtual void on_refused(Verdict verdict, Duration retry_after, Instant now) = 0;

   protected:
    ~Request() = default;
  };
  struct Answer {
    http::Admission::Answer answer = http::Admission::Answer::runs;
    Verdict verdict = Verdict::none;  // if it is refused
    Duration retry_after{0};
  };

  // `number` is the loop's; the options are those of `shared`. REQUIRES: !find_error(options). The
  // loop outlives it, and it outlives its requests.
  RouteAdmission(http::Loop& loop, const http::AdmissionOptions& options,
                 std::shared_ptr<SharedAdmission> shared, std::size_t number);
  // For a single loop.
  RouteAdmission(http::Loop& loop, const http::AdmissionOptions& options);
  ~RouteAdmission() override;

  // Reloads the queue. SharedAdmission::reload() is for the limit and the queue's capacity.
  void reload(const http::AdmissionOptions& options);

  [[nodiscard]] Answer enter(Request& request, admit::Criticality criticality, Instant deadline,
                             Instant now);
  // The request is over, or does not wait any longer. `abandoned`: its client closed, so its
  // duration is no sample for the limit. No effect if it neither waits nor runs.
  void leave(Request& request, bool abandoned, Instant now);

  [[nodiscard]] const http::Admission& admission() const noexcept { return admission_; }

 private:
  void on_timer(Instant now) override;
  void on_turn_end() override;
  void on_slot() override;
  void update_claim();
  void report_refusals(Instant now);

  const std::shared_ptr<SharedAdmission> shared_;
  const std::size_t number_;
  bool claims_ = false;    // has an outstanding request for a slot, or an unused slot
  std::size_t slots_ = 0;  // granted and not used yet
  http::Admission admission_;
  http::Admission::Refusals refusals_;
  http::Admission::Refusals reporting_;
};

class RouteAdmission;  // see route_admission.h

// A route as one loop sees it.
struct LoopRoute {
  const RouteConfig* config = nullptr;
  std::shared_ptr<SharedRoute> shared;
  std::shared_ptr<Upstream> upstream;
  std::shared_ptr<RouteAdmission> admission;  // nullptr: every request is admitted
};

// A LoopTable is one generation of the routes on one loop. A reload makes a new one; the old one
// lives until the last request that began under it has ended (they hold it). Its upstreams and
// admissions live longer: a request ends inside a call of one of their connections, so they must
// not be destroyed with it. The Worker destroys them later.
struct LoopTable {
  std::shared_ptr<const ProxyConfig> config;
  RouteMatcher matcher;
  std::vector<LoopRoute> routes;  // as config->routes
};

}  // namespace damper::proxy
