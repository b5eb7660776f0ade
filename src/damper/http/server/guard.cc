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

// A Visit is a request at the guard: the exchange that the handler sees, around the server's own.
class Guard::Visit final : public WrappedExchange,
                           public Admission::Item,
                           public std::enable_shared_from_this<Visit> {
 public:
  Visit(Guard& guard, ExchangePtr outer, std::shared_ptr<const Handler> inner,
        run::RequestContext inherited)
      : WrappedExchange(std::move(outer), std::move(inherited)),
        Item(inherited_.criticality, inherited_.deadline.at()),
        guard_(guard.self_),
        inner_(std::move(inner)) {}
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit() override { finish(); }  // If nobody has answered, the server will.

  void respond(Response response) override {
    const std::shared_ptr<Visit> alive = shared_from_this();
    const auto unneeded = std::exchange(give_up_, {});  // They may keep this exchange.
    outer_->respond(std::move(response));
    finish();
  }
  [[nodiscard]] bool is_over() const noexcept override { return outer_->is_over(); }
  void on_cancel(std::function<void()> give_up) override {
    if (gone_ || late_) return give_up();
    if (!is_over()) give_up_.push_back(std::move(give_up));
  }

  // Keeps itself while it waits: nobody else does.
  void wait() { self_ = shared_from_this(); }
  [[nodiscard]] std::shared_ptr<Visit> stop_waiting() { return std::exchange(self_, nullptr); }

  void listen_for_the_caller() {
    outer_->on_cancel([weak = weak_from_this()] {
      if (const auto visit = weak.lock()) visit->on_gone();
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
  std::shared_ptr<Visit> self_;
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
  const std::shared_ptr<Visit> visit(
      new Visit(*this, exchange, std::move(inner),
                read_arrival(exchange->request().fields.view(), {arrived, wall}, options_.arrival)),
      EndsOnTheLoop());
  exchange->inherited() = visit->inherited();
  Admission::Refusals refusals;
  switch (admission_.offer(*visit, now, clock_.draw(), refusals)) {
    case Admission::Answer::runs:
      visit->listen_for_the_caller();
      run(visit);
      if (visit->runs()) set_alarm();
      break;
    case Admission::Answer::waits:
      visit->wait();
      visit->listen_for_the_caller();
      set_alarm();
      break;
    case Admission::Answer::refused: break;
  }
  tell(refusals);
}

void Guard::set_alarm() { clock_.set_alarm(std::min(admission_.wake(), ending_.next())); }

// A handler that answers at once costs no timer.
void Guard::run(const std::shared_ptr<Visit>& visit) {
  visit->call_handler();
  if (!visit->runs()) return;
  visit->ending =
      ending_.schedule(visit->deadline(), {.detail = std::bit_cast<std::uintptr_t>(visit.get())});
}

void Guard::on_finished(Visit& visit) {
  (void)ending_.cancel(visit.ending);
  admission_.on_finished(visit, clock_.now(), visit.gone());
  pump();
}

void Guard::on_gone(Visit& visit) {
  if (!admission_.try_withdraw(visit, clock_.now())) return;
  (void)visit.stop_waiting();
  set_alarm();
}

// Runs whoever can be run now. A handler that answers at once comes back here: the loop that is
// under way goes on with the place that it left.
void Guard::pump() {
  if (pumping_) return;
  pumping_ = true;
  Admission::Refusals refusals;
  while (Admission::Item* item = admission_.try_next(clock_.now(), clock_.draw(), refusals)) {
    run(static_cast<Visit*>(item)->stop_waiting());
  }
  pumping_ = false;
  tell(refusals);
  set_alarm();
}

void Guard::on_alarm() {
  while (const auto due = ending_.pop(clock_.now())) {
    auto* visit = std::bit_cast<Visit*>(static_cast<std::uintptr_t>(due->event.detail));
    // Without one a worker has just let go of it: it is on its way here to end.
    if (const std::shared_ptr<Visit> alive = visit->weak_from_this().lock()) {
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
    auto* visit = static_cast<Visit*>(refused.item);
    const std::shared_ptr<Visit> alive = visit->shared_from_this();
    (void)visit->stop_waiting();
    visit->respond(
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
