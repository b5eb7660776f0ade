#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/http/net/loop.h"
#include "damper/http/peer/client_rates.h"
#include "damper/http/server/admission.h"
#include "damper/observe/trace/tracer.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/config/route_matcher.h"
#include "damper/proxy/data/kept_bytes.h"
#include "damper/proxy/data/shared.h"
#include "damper/proxy/data/shared_admission.h"
#include "damper/proxy/data/upstream.h"
#include "damper/proxy/split/weighted_split.h"
#include "damper/run/clock.h"

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
                 std::shared_ptr<SharedAdmission> shared, std::size_t number)
      : Timer(loop),
        TurnEnd(loop),
        shared_(std::move(shared)),
        number_(number),
        admission_(options, {.limit = shared_->limit(), .line = shared_->line()}) {
    shared_->join(number_, loop, *this);
  }
  // For a single loop.
  RouteAdmission(http::Loop& loop, const http::AdmissionOptions& options)
      : RouteAdmission(loop, options, std::make_shared<SharedAdmission>(options, 1), 0) {}
  ~RouteAdmission() override {
    shared_->leave(number_);
    for (; slots_ > 0; --slots_) shared_->hand_on(number_);
  }

  // Reloads the queue. SharedAdmission::reload() is for the limit and the queue's capacity.
  void reload(const http::AdmissionOptions& options) { admission_.reload(options); }

  [[nodiscard]] Answer enter(Request& request, admit::Criticality criticality, Instant deadline,
                             Instant now) {
    static_cast<http::Admission::Item&>(request) = http::Admission::Item(criticality, deadline);
    Answer answer{.answer = admission_.offer(request, now, run::draw(), refusals_)};
    if (answer.answer == http::Admission::Answer::refused) {
      for (const http::Admission::Refusal& refused : refusals_) {
        if (refused.item != &request) continue;
        answer.verdict = refused.verdict;
        answer.retry_after = refused.retry_after;
      }
      std::erase_if(refusals_, [&](const auto& refused) { return refused.item == &request; });
    }
    if (answer.answer == http::Admission::Answer::waits) {
      update_claim();
      arm(admission_.wake());
    }
    if (!refusals_.empty()) ask_turn_end();  // Requests displaced by this one.
    return answer;
  }
  // The request is over, or its response has begun, or it does not wait any longer. `abandoned`:
  // its client closed, so its duration is no sample for the limit. No effect if it neither waits
  // nor runs.
  void leave(Request& request, bool abandoned, Instant now) {
    if (request.waits()) {
      (void)admission_.try_withdraw(request, now);
      update_claim();
      arm(admission_.wake());
    } else if (request.runs()) {
      admission_.on_finished(request, now, abandoned);
      shared_->share_out(number_);
    } else {  // Refused: on_refused() is not called any more.
      std::erase_if(refusals_, [&](const auto& refused) { return refused.item == &request; });
      std::erase_if(reporting_, [&](const auto& refused) { return refused.item == &request; });
    }
  }

  // The same for a request whose time the client determined: no sample for the limit.
  void leave_unrated(Request& request, Instant now) {
    if (!request.runs()) return leave(request, true, now);
    admission_.on_finished_unrated(request);
    shared_->share_out(number_);
  }

  [[nodiscard]] const http::Admission& admission() const noexcept { return admission_; }

 private:
  void on_timer(Instant now) override {
    admission_.expire(now, run::draw(), refusals_);
    on_turn_end();
  }
  void on_turn_end() override {
    const Instant now = loop().now();
    while (slots_ > 0) {
      --slots_;
      claims_ = false;
      if (http::Admission::Item* const item = admission_.next(now, run::draw(), refusals_)) {
        static_cast<Request*>(item)->on_admitted(now);
      } else {
        shared_->hand_on(number_);
      }
      update_claim();
    }
    report_refusals(now);
    update_claim();
    arm(admission_.wake());
  }
  void on_slot() override {
    ++slots_;
    ask_turn_end();
  }
  // Claims one slot at a time while the queue is not empty; withdraws the claim when it is.
  void update_claim() {
    const auto most_critical = admission_.most_critical();
    if (!most_critical) {
      if (claims_ && shared_->try_withdraw(number_)) claims_ = false;
    } else if (claims_) {
      shared_->set_criticality(number_, *most_critical);
    } else {
      claims_ = true;
      shared_->claim(number_, *most_critical);
      shared_->share_out(number_);
    }
  }
  // on_refused() may re-enter leave(), for this request or another.
  void report_refusals(Instant now) {
    std::swap(refusals_, reporting_);
    while (!reporting_.empty()) {
      const http::Admission::Refusal refused = reporting_.back();
      reporting_.pop_back();
      static_cast<Request*>(refused.item)->on_refused(refused.verdict, refused.retry_after, now);
    }
  }

  const std::shared_ptr<SharedAdmission> shared_;
  const std::size_t number_;
  bool claims_ = false;    // has an outstanding request for a slot, or an unused slot
  std::size_t slots_ = 0;  // granted and not used yet
  http::Admission admission_;
  http::Admission::Refusals refusals_;
  http::Admission::Refusals reporting_;
};

struct LoopSplit;

// A route as one loop sees it.
struct LoopRoute {
  const RouteConfig* config = nullptr;
  std::shared_ptr<SharedRoute> shared;
  std::shared_ptr<Upstream> upstream;                // nullptr: the route forwards nothing
  std::shared_ptr<RouteAdmission> admission;         // nullptr: every request is admitted
  std::shared_ptr<http::ClientRates> client_rates;   // nullptr: no limit by client
  std::vector<std::shared_ptr<Upstream>> watched{};  // of a health page, as its clusters
  std::shared_ptr<const LoopSplit> split{};          // nullptr: the route has one cluster
};

// The weighted clusters of a route. Each is like a route with one cluster, which the request has
// from then on: its retries, hedges, queue and tunnel are in that cluster alone.
struct LoopSplit {
  WeightedSplit weights;
  std::vector<LoopRoute> clusters;  // as config->weighted_clusters
};

// A LoopTable is one generation of the routes on one loop. A reload makes a new one; the old one
// lives until the last request that began under it has ended (they hold it). Its upstreams and
// admissions live longer: a request ends inside a call of one of their connections, so they must
// not be destroyed with it. The Worker destroys them later.
struct LoopTable {
  std::shared_ptr<const ProxyConfig> config;
  RouteMatcher matcher;
  std::vector<LoopRoute> routes;              // as config->routes
  std::shared_ptr<observe::Tracer> tracer{};  // of this loop; nullptr: no tracing
  std::shared_ptr<KeptBytes> kept{};          // of all loops; nullptr: no bound
};

}  // namespace damper::proxy
