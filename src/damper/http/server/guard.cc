#include "damper/http/server/guard.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>
#include <vector>

#include "damper/base/bounds.h"
#include "damper/base/check.h"
#include "damper/http/net/loop.h"
#include "damper/http/server/guard_refusal.h"
#include "damper/run/clock.h"

namespace damper::http {

// A GuardedRequest is a request at the guard: the exchange that the handler sees, around the
// server's own.
class Guard::GuardedRequest final : public WrappedExchange,
                                    public Admission::Item,
                                    public std::enable_shared_from_this<GuardedRequest> {
 public:
  GuardedRequest(Guard& guard, ExchangePtr outer, std::shared_ptr<const Handler> inner,
                 run::RequestContext inherited)
      : WrappedExchange(std::move(outer), std::move(inherited)),
        Item(inherited_.criticality, inherited_.deadline.at()),
        guard_(guard.self_),
        inner_(std::move(inner)) {}
  GuardedRequest(const GuardedRequest&) = delete;
  GuardedRequest& operator=(const GuardedRequest&) = delete;
  ~GuardedRequest() override { finish(); }  // Without a response the server sends one.

  void respond(Response response) override {
    const std::shared_ptr<GuardedRequest> alive = shared_from_this();
    const auto unneeded = std::exchange(give_up_, {});  // They may keep this exchange.
    outer_->respond(std::move(response));
    finish();
  }
  [[nodiscard]] bool is_over() const noexcept override { return outer_->is_over(); }
  void on_cancel(std::function<void()> give_up) override {
    if (gone_ || late_) return give_up();
    if (!is_over()) give_up_.push_back(std::move(give_up));
  }

  // Keeps itself while it waits: it has no other owner.
  void wait() { self_ = shared_from_this(); }
  [[nodiscard]] std::shared_ptr<GuardedRequest> stop_waiting() {
    return std::exchange(self_, nullptr);
  }

  void listen_for_the_caller() {
    outer_->on_cancel([weak = weak_from_this()] {
      if (const auto request = weak.lock()) request->on_gone();
    });
  }
  void call_handler() {
    try {
      (*inner_)(shared_from_this());
    } catch (...) {
      respond({.status = 500, .fields = {}, .body = {}, .trailers = {}});
    }
  }
  [[nodiscard]] bool gone() const noexcept { return gone_; }

  // The deadline has come. The place stays taken for as long as the handler goes on.
  void on_deadline(Response response) {
    late_ = true;
    outer_->respond(std::move(response));
    for (const auto& give_up : std::exchange(give_up_, {})) give_up();
  }

  timer::EventQueue::Timer ending{};  // the guard's

 private:
  void finish() {
    Guard* guard = *guard_;
    if (runs() && guard != nullptr) guard->on_finished(*this);
  }
  void on_gone() {
    gone_ = true;
    if (Guard* guard = *guard_) guard->on_gone(*this);
    for (const auto& give_up : std::exchange(give_up_, {})) give_up();
  }

  const std::shared_ptr<Guard* const> guard_;  // nullptr inside: it is gone
  const std::shared_ptr<const Handler> inner_;
  std::vector<std::function<void()>> give_up_;
  std::shared_ptr<GuardedRequest> self_;
  bool gone_ = false;
  bool late_ = false;
};

std::optional<std::string> find_error(const GuardOptions& options) {
  return BoundsCheck()
      .part("admission", find_error(options.admission))
      .part("arrival", find_error(options.arrival))
      .require(options.overload_status == 503 || options.overload_status == 429,
               "overload_status is " + std::to_string(options.overload_status) +
                   "; it must be 503 or 429")
      .error();
}

Guard::Guard(const GuardOptions& options, GuardClock& clock)
    : options_((DAMPER_CHECK_VALID(find_error(options)), options)),
      clock_(clock),
      admission_(options.admission) {}

Guard::~Guard() {
  Admission::Refusals refusals;
  admission_.drain(clock_.now(), clock_.draw(), refusals);
  tell(refusals);
  *self_ = nullptr;
}

void Guard::handle(const ExchangePtr& exchange, std::shared_ptr<const Handler> inner) {
  if (exchange->is_over()) return;
  const Instant now = clock_.now();
  const Instant arrived = exchange->arrived();
  const UnixTime wall =
      clock_.wall_now() - std::chrono::floor<std::chrono::milliseconds>(between(arrived, now));
  run::RequestContext inherited =
      read_arrival(exchange->request().fields.view(), {arrived, wall}, options_.arrival);
  inherited.trace = exchange->inherited().trace;  // Of traced(), around this guard.
  inherited.tracestate = std::move(exchange->inherited().tracestate);
  const std::shared_ptr<GuardedRequest> request(
      new GuardedRequest(*this, exchange, std::move(inner), std::move(inherited)), EndsOnTheLoop());
  exchange->inherited() = request->inherited();
  Admission::Refusals refusals;
  switch (admission_.offer(*request, now, clock_.draw(), refusals)) {
    case Admission::Answer::runs:
      request->listen_for_the_caller();
      run(request);
      if (request->runs()) set_alarm();
      break;
    case Admission::Answer::waits:
      request->wait();
      request->listen_for_the_caller();
      set_alarm();
      break;
    case Admission::Answer::refused: break;
  }
  tell(refusals);
}

void Guard::set_alarm() { clock_.set_alarm(std::min(admission_.wake(), ending_.next())); }

// A handler that answers at once costs no timer.
void Guard::run(const std::shared_ptr<GuardedRequest>& request) {
  request->call_handler();
  if (!request->runs()) return;
  request->ending = ending_.schedule(request->deadline(),
                                     {.detail = std::bit_cast<std::uintptr_t>(request.get())});
}

void Guard::on_finished(GuardedRequest& request) {
  (void)ending_.cancel(request.ending);
  admission_.on_finished(request, clock_.now(), request.gone());
  pump();
}

void Guard::on_gone(GuardedRequest& request) {
  if (!admission_.try_withdraw(request, clock_.now())) return;
  (void)request.stop_waiting();
  set_alarm();
}

// Runs every request that has a slot. A handler that responds at once re-enters: the outer loop
// then uses the slot that it released.
void Guard::pump() {
  if (pumping_) return;
  pumping_ = true;
  Admission::Refusals refusals;
  while (Admission::Item* item = admission_.try_next(clock_.now(), clock_.draw(), refusals)) {
    run(static_cast<GuardedRequest*>(item)->stop_waiting());
  }
  pumping_ = false;
  tell(refusals);
  set_alarm();
}

void Guard::on_alarm() {
  while (const auto due = ending_.pop(clock_.now())) {
    auto* request = std::bit_cast<GuardedRequest*>(static_cast<std::uintptr_t>(due->event.detail));
    // Without one a worker has just let go of it: it is on its way here to end.
    if (const std::shared_ptr<GuardedRequest> alive = request->weak_from_this().lock()) {
      alive->on_deadline(
          refusal(Verdict::deadline_passed, Duration{0}, options_.overload_status, clock_.draw()));
    }
  }
  Admission::Refusals refusals;
  admission_.expire(clock_.now(), clock_.draw(), refusals);
  tell(refusals);
  pump();
}

void Guard::tell(Admission::Refusals& refusals) {
  for (const Admission::Refusal& refused : refusals) {
    auto* request = static_cast<GuardedRequest*>(refused.item);
    const std::shared_ptr<GuardedRequest> alive = request->shared_from_this();
    (void)request->stop_waiting();
    request->respond(
        refusal(refused.verdict, refused.retry_after, options_.overload_status, clock_.draw()));
  }
  refusals.clear();
}

Handler guarded(Handler inner, Guard& guard) {
  return [handler = std::make_shared<const Handler>(std::move(inner)),
          &guard](const ExchangePtr& exchange) { guard.handle(exchange, handler); };
}

// The time of day, not of the turn: work within a turn takes time too, and is measured.
class LoopGuard::Clock final : public GuardClock, public Loop::Timer {
 public:
  explicit Clock(Loop& loop) : Timer(loop) {}
  [[nodiscard]] Instant now() noexcept override { return run::now(); }
  [[nodiscard]] UnixTime wall_now() noexcept override { return run::wall_time(); }
  [[nodiscard]] double draw() noexcept override { return run::draw(); }
  void set_alarm(Instant due) override { arm(due); }

  Guard* guard = nullptr;

 private:
  void on_timer(Instant) override { guard->on_alarm(); }
};

LoopGuard::LoopGuard(Loop& loop, const GuardOptions& options)
    : clock_(std::make_unique<Clock>(loop)), guard_(std::make_unique<Guard>(options, *clock_)) {
  clock_->guard = guard_.get();
}

LoopGuard::~LoopGuard() = default;

}  // namespace damper::http
