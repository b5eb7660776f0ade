#include "damper/http/client/guarded_call.h"

#include <chrono>
#include <utility>

#include "damper/decide/idempotency.h"
#include "damper/decide/layering.h"
#include "damper/http/client/failure.h"
#include "damper/http/client/url.h"
#include "damper/http/headers/criticality_header.h"
#include "damper/http/headers/idempotency_key.h"
#include "damper/run/clock.h"
#include "damper/run/inherited.h"
#include "damper/run/scope.h"
#include "damper/schedule/deadline_header.h"

namespace damper::http {
namespace {

using decide::Outcome;

UnixTime wall_time() noexcept {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

// An ETag that If-Match can be compared with (RFC 9110, section 8.8.3): weak ones never match.
bool is_strong(std::string_view etag) noexcept {
  return etag.size() >= 2 && etag.front() == '"' && etag.back() == '"';
}

}  // namespace

void GuardedCall::begin(GuardedService& service, Request&& request, const RequestOptions& options,
                        Modify&& modify, std::unique_ptr<Completion<HttpResult>> completion) {
  if (!valid_target(request.target) && request.target != "*") {
    Failure failure = failure_of(CloseReason::malformed, false);
    failure.report.outcome = Outcome::permanent;
    return Completion<HttpResult>::complete(
        std::move(completion), {Verdict::permanent, std::move(failure), 0, std::nullopt});
  }
  const bool by_method = decide::idempotent_method(request.method);
  std::optional<std::string_view> key = request.fields.find(kIdempotencyKeyHeader);
  if (!by_method && !key && service.options_.make_idempotency_key) {
    request.fields.add(kIdempotencyKeyHeader, make_idempotency_key());
    key = request.fields.find(kIdempotencyKeyHeader);
  }
  decide::Idempotency idempotency = decide::idempotency(request.method, key.value_or(""));
  idempotency.by_word = options.idempotent;
  const engine::CallOptions words{
      // An update's write is repeated on the caller's word alone: see run/update.h.
      .idempotent = modify ? options.idempotent.value_or(false) : idempotency.repeatable(),
      .owned_above = run::Scope::owned_above(),
      .unsent_owned_above = run::Scope::unsent_owned_above(),
      .rereads = modify != nullptr,
      .deadline = run::Scope::deadline().earlier(schedule::Deadline(options.deadline))};
  auto* const call = new (service)
      GuardedCall(service, std::move(request), words, std::move(modify), std::move(completion));
  call->completion_->listen(*call);
  call->start(service.loop().now());
}

GuardedCall::GuardedCall(GuardedService& service, Request&& request,
                         const engine::CallOptions& options, Modify&& modify,
                         std::unique_ptr<Completion<HttpResult>> completion)
    : CallDriver(service.dependency_, options),
      service_(service),
      request_(std::move(request)),
      modify_(std::move(modify)),
      completion_(std::move(completion)),
      clock_(*this) {
  const run::Inherited* const above = run::Scope::inherited();
  if (above != nullptr && above->criticality != run::Inherited{}.criticality) {
    criticality_ = admit::name(above->criticality);
  }
  if (options.owned_above) {
    owner_above_ = run::Scope::retry_owner();
    owner_ = owner_above_;
    attempt_ = run::Scope::retry_attempt();
  } else if (this->call().owns_retries()) {
    owner_ = service.owner_;
  }
  if (!request_.fields.empty()) {
    for (const std::string_view name :
         {decide::kRetryOwnerHeader, decide::kAttemptHeader, schedule::kRequestDeadlineHeader}) {
      request_.fields.remove(name);  // Ours are true.
    }
  }
  if (request_.authority.empty()) request_.authority = service.options_.authority;
  first_lane_.call = this;
  after_ = std::exchange(service_.first_, this);
  if (after_ != nullptr) after_->before_ = this;
  ++service_.calls_;
}

GuardedCall::~GuardedCall() {
  (before_ != nullptr ? before_->after_ : service_.first_) = after_;
  if (after_ != nullptr) after_->before_ = before_;
  --service_.calls_;
}

void* GuardedCall::operator new(std::size_t size, GuardedService& service) {
  if (service.spare_.empty()) return ::operator new(size);
  void* const memory = service.spare_.back();
  service.spare_.pop_back();
  return memory;
}

void GuardedCall::operator delete(void* memory, GuardedService& service) noexcept {
  service.keep(memory);
}

void GuardedCall::operator delete(GuardedCall* call, std::destroying_delete_t) {
  GuardedService& service = call->service_;
  call->~GuardedCall();
  service.keep(call);
}

GuardedCall::Lane& GuardedCall::lane_of(std::size_t place) {
  if (place == 0) return first_lane_;
  if (lanes_[place] == nullptr) {
    lanes_[place] = std::make_unique<Lane>();
    lanes_[place]->call = this;
  }
  return *lanes_[place];
}

void GuardedCall::cancel() { on_cancel(service_.loop_.now()); }

void GuardedCall::send(const engine::Attempt& attempt) {
  Lane& lane = lane_of(attempt.lane);
  lane.attempt = attempt;
  lane.writing.reset();
  lane.lease = service_.replicas_.pick_next(tried_, asking(), attempt.sent, run::draw());
  if (!lane.lease) return on_failure(lane, failure_of(CloseReason::refused, false));
  lane.start(*service_.pools_[lane.lease.replica()], request_,
             service_.options_.client.max_response_body);
}

ReplicaSet GuardedCall::asking() const noexcept {
  ReplicaSet asking;
  if (first_lane_.lease) asking.set(first_lane_.lease.replica());
  for (const auto& lane : lanes_) {
    if (lane != nullptr && lane->lease) asking.set(lane->lease.replica());
  }
  return asking;
}

void GuardedCall::give_up(int place) {
  Lane& lane = lane_of(static_cast<std::size_t>(place));
  const Instant now = service_.loop_.now();
  const bool late = now >= lane.attempt.deadline;
  late ? lane.cancel_late() : lane.cancel();
  service_.replicas_.settle(lane.lease, late ? Outcome::timeout : Outcome::cancelled, now,
                            run::draw());
}

void GuardedCall::wake_at(Instant when) {
  clock_.arm(when);
  if (CallDriver::is_waiting() == Waiter::is_waiting()) return;
  CallDriver::is_waiting() ? service_.waiting_.add(*this) : service_.waiting_.remove(*this);
}

std::span<const Field> GuardedCall::fields(Lane& lane, const Request& request, Instant now) {
  std::vector<Field>& fields = service_.scratch_;
  const std::span<const Field> own = request.fields.view();
  fields.assign(own.begin(), own.end());
  if (lane.attempt.deadline != kNever) {
    lane.deadline_text_ = schedule::format_request_deadline(between(now, lane.attempt.deadline));
    fields.push_back({schedule::kRequestDeadlineHeader, lane.deadline_text_});
  }
  if (!owner_.empty()) fields.push_back({decide::kRetryOwnerHeader, owner_});
  lane.attempt_text_ = decide::format_attempt(
      {.owned_above = attempt_ != 0, .attempt = attempt_ != 0 ? attempt_ : 1}, lane.attempt.number);
  fields.push_back({decide::kAttemptHeader, lane.attempt_text_});
  if (!criticality_.empty() && !request.fields.find(kCriticalityHeader)) {
    fields.push_back({kCriticalityHeader, criticality_});
  }
  return fields;
}

void GuardedCall::on_done(Lane& lane, CloseReason reason) {
  if (reason != CloseReason::finished) {
    return on_failure(lane, failure_of(reason, lane.is_answered()));
  }
  Failure failure;
  failure.report = report_of(lane.response(), wall_time());
  failure.status = lane.response().status;
  if (failure.report.outcome != Outcome::success) {
    answer_ = std::move(lane.response());
    return on_failure(lane, std::move(failure));
  }
  if (modify_ && lane.writing == nullptr) return write(lane);
  const Instant now = service_.loop_.now();
  service_.replicas_.settle(lane.lease, Outcome::success, now, run::draw());
  answer_ = std::move(lane.response());
  on_outcome(lane.attempt.lane, failure.report, now);
}

void GuardedCall::on_failure(Lane& lane, Failure failure) {
  const Instant now = service_.loop_.now();
  if (modify_ && lane.writing == nullptr) failure.report.harmless = true;  // It has only read.
  service_.replicas_.settle(lane.lease, failure.report.outcome, now, run::draw());
  const decide::Report report = failure.report;
  failure_ = std::move(failure);
  on_outcome(lane.attempt.lane, report, now);
}

// Puts back what is made of what was read.
void GuardedCall::write(Lane& lane) {
  Failure failure;
  failure.report.outcome = Outcome::permanent;
  failure.status = lane.response().status;
  const auto etag = lane.response().fields.find("etag");
  if (!etag || !is_strong(*etag)) {
    answer_ = std::move(lane.response());
    return on_failure(lane, std::move(failure));
  }
  auto writing = std::make_unique<Request>();
  writing->method = "PUT";
  writing->authority = request_.authority;
  writing->target = request_.target;
  writing->fields = request_.fields;
  writing->fields.set("if-match", *etag);
  if (const auto type = lane.response().fields.find("content-type")) {
    writing->fields.set("content-type", *type);
  }
  try {
    writing->body = modify_(lane.response());
  } catch (...) {
    return on_failure(lane, failed_by_exception().error);
  }
  lane.writing = std::move(writing);
  lane.start(*service_.pools_[lane.lease.replica()], *lane.writing,
             service_.options_.client.max_response_body);
}

void GuardedCall::on_verdict(Verdict verdict) {
  service_.waiting_.remove(*this);
  const std::uint32_t attempts = call().attempts();
  HttpResult result = verdict == Verdict::success
                          ? HttpResult(*std::move(answer_), attempts)
                          : HttpResult(verdict, std::move(failure_), attempts, std::move(answer_));
  std::unique_ptr<Completion<HttpResult>> completion = std::move(completion_);
  delete this;
  Completion<HttpResult>::complete(std::move(completion), std::move(result));
}

}  // namespace damper::http
