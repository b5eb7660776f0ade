#include "damper/http/client/guarded_client.h"

#include <utility>

#include "damper/base/check.h"
#include "damper/decide/idempotency.h"
#include "damper/decide/layering.h"
#include "damper/http/client/http_result.h"
#include "damper/http/client/round_trip.h"
#include "damper/http/client/url.h"
#include "damper/http/headers/idempotency_key.h"
#include "damper/http/spans/call_trace.h"
#include "damper/http/spans/caller_trace.h"
#include "damper/run/clock.h"
#include "damper/run/scope.h"

namespace damper::http {
namespace {

using decide::Outcome;

// An ETag that If-Match can be compared with (RFC 9110, section 8.8.3): weak ones never match.
bool is_strong(std::string_view etag) noexcept {
  return etag.size() >= 2 && etag.front() == '"' && etag.back() == '"';
}

// The trace of a call: below `parent`, else below the request's own context, else below that of the
// request that it is made for. The request's fields are removed: each attempt has its own.
std::unique_ptr<CallTrace> make_trace(observe::Tracer* tracer, Request& request,
                                      const observe::SpanContext& parent, Instant now) {
  if (tracer == nullptr) return nullptr;
  CallerTrace own;
  own.read(request.fields.view(), true);
  request.fields.remove(observe::kTraceparentHeader);
  request.fields.remove(observe::kTracestateHeader);
  const run::RequestContext* const above = run::Scope::context();
  observe::SpanContext from = parent ? parent : own.parent;
  if (!from && above != nullptr) from = above->trace;
  // `tracestate` belongs to the trace.
  std::string state;
  if (from && from.trace == own.parent.trace) {
    state = std::move(own.tracestate);
  } else if (from && above != nullptr && from.trace == above->trace.trace) {
    state = above->tracestate;
  }
  return std::make_unique<CallTrace>(*tracer, from, std::move(state), now);
}

}  // namespace

// A GuardedCall is one guarded request with all its attempts, which are round trips to replicas. It
// decides nothing.
//
// Model: see AttemptDriver. With `modify` an attempt is two round trips: the second one writes back
// what `modify` made of the first one's response.
// Lifetime: it owns itself, from start() to the verdict.
// Thread safety: none.
class GuardedCall final : public AttemptDriver, public Cancellable {
 public:
  GuardedCall(GuardedClient& client, Request&& request, const engine::CallOptions& options,
              const observe::SpanContext& parent, Modify&& modify,
              std::unique_ptr<Completion<HttpResult>> completion)
      : AttemptDriver(client.dependency_, options, client.waiting_),
        client_(client),
        request_(std::move(request)),
        modify_(std::move(modify)),
        completion_(std::move(completion)),
        clock_(client.loop_, *this, &GuardedCall::on_wake),
        attempts_(*this),
        trace_(make_trace(client.options_.tracer, request_, parent, client.loop_.now())) {
    const run::RequestContext* const above = run::Scope::context();
    if (above != nullptr && above->criticality != run::RequestContext{}.criticality) {
      criticality_ = admit::name(above->criticality);
    }
    if (options.request.owned_above) {
      owner_above_ = run::Scope::retry_owner();
      owner_ = owner_above_;
      attempt_ = run::Scope::retry_attempt();
    } else if (this->call().owns_retries()) {
      owner_ = client.owner_;
    }
    if (!request_.fields.empty()) {
      for (const std::string_view name : run::kReplacedFields) request_.fields.remove(name);
    }
    if (request_.authority.empty()) request_.authority = client.options_.authority;
    client_.calls_.push_back(*this);
  }
  void start() {
    completion_->listen(*this);
    AttemptDriver::start(client_.loop_.now());
  }
  void cancel() override { on_cancel(client_.loop_.now()); }

 private:
  class Attempt final : public RoundTrip, public LeasedAttempt {
   public:
    explicit Attempt(GuardedCall& call) noexcept : call_(call) {}
    [[nodiscard]] bool is_free() const noexcept { return !lease(); }

   private:
    friend class GuardedCall;
    void start() override;
    void give_up(bool late) override {
      if (call_.trace_ != nullptr) {
        call_.trace_->on_attempt_over(attempt().number,
                                      late ? Outcome::timeout : Outcome::cancelled,
                                      call_.client_.loop_.now());
      }
      cancel(late);
    }
    std::span<const Field> fields(const Request& request, Instant now) override {
      return call_.fields(*this, request, now);
    }
    void on_round_trip(CloseReason reason) override { call_.on_response(*this, reason); }

    GuardedCall& call_;
    std::unique_ptr<Request> writing_;  // the second round trip of an update
  };

  ~GuardedCall() override = default;

  ReplicaLease pick(balance::ReplicaSet& tried, const balance::ReplicaSet& in_use,
                    Instant now) override {
    const balance::Replicas::Lease lease =
        client_.replicas_.pick_next(tried, in_use, now, run::draw());
    if (!lease) return {};
    return {client_.replicas_, lease, *client_.pools_[lease.replica()]};
  }
  LeasedAttempt& free_attempt() override { return attempts_.find_free(*this); }
  decide::Report on_no_replica() override {
    failure_ = failure_of(CloseReason::refused, false);
    if (modify_) failure_->report.harmless = true;
    return failure_->report;
  }
  void arm(Instant when) override { clock_.arm(when); }
  void on_verdict(Verdict verdict) override {
    const std::uint32_t attempts = call().attempts();
    if (trace_ != nullptr) {
      trace_->end({.dependency = client_.dependency_.name(),
                   .method = request_.method,
                   .target = request_.target,
                   .verdict = verdict,
                   .attempts = attempts,
                   .status = answer_ ? answer_->status : 0},
                  client_.loop_.now());
    }
    HttpResult result = verdict == Verdict::success ? HttpResult(*std::move(answer_), attempts)
                                                    : HttpResult(verdict, std::move(failure_),
                                                                 attempts, std::move(answer_));
    std::unique_ptr<Completion<HttpResult>> completion = std::move(completion_);
    delete this;
    Completion<HttpResult>::complete(std::move(completion), std::move(result));
  }

  [[nodiscard]] std::span<const Field> fields(const Attempt& attempt, const Request& request,
                                              Instant now) {
    std::vector<Field>& fields = client_.scratch_;
    const std::span<const Field> own = request.fields.view();
    fields.assign(own.begin(), own.end());
    const engine::Attempt& sent = attempt.attempt();
    const bool own_criticality = request.fields.find(run::kCriticalityHeader).has_value();
    const run::OutgoingContext context{
        .remaining = sent.deadline == kNever ? kForever : between(now, sent.deadline),
        .owner = owner_,
        .owner_attempt = attempt_,
        .attempt = sent.number,
        .criticality = own_criticality ? std::string_view() : criticality_};
    for (const run::OutgoingFields::Field& field : client_.outgoing_.write(context)) {
      fields.push_back({field.name, field.value});
    }
    if (trace_ != nullptr) {
      fields.push_back({observe::kTraceparentHeader, trace_->traceparent_of(sent.number)});
      const std::string_view state = trace_->tracestate();
      if (!state.empty()) fields.push_back({observe::kTracestateHeader, state});
    }
    return fields;
  }
  void on_response(Attempt& attempt, CloseReason reason) {
    if (reason != CloseReason::finished) {
      return on_failure(attempt, attempt.failure(reason));
    }
    Failure failure;
    failure.report = report_of(attempt.response(), run::wall_time());
    failure.status = attempt.response().status;
    if (failure.report.outcome != Outcome::success) {
      answer_ = std::move(attempt.response());
      return on_failure(attempt, std::move(failure));
    }
    if (modify_ && attempt.writing_ == nullptr) return write(attempt);
    const Instant now = client_.loop_.now();
    attempt.lease().settle(Outcome::success, now);
    answer_ = std::move(attempt.response());
    trace_over(attempt, Outcome::success, answer_->status, now);
    on_attempt_over(attempt, failure.report, now);
  }
  void on_failure(Attempt& attempt, Failure failure) {
    const Instant now = client_.loop_.now();
    if (modify_ && attempt.writing_ == nullptr)
      failure.report.harmless = true;  // It has only read.
    const bool ours = failure.error == CloseReason::address_refused ||
                      failure.error == CloseReason::out_of_descriptors;
    attempt.lease().settle(ours ? Outcome::cancelled : failure.report.outcome, now);
    const decide::Report report = failure.report;
    trace_over(attempt, report.outcome, failure.status, now);
    failure_ = std::move(failure);
    on_attempt_over(attempt, report, now);
  }
  void trace_over(const Attempt& attempt, Outcome outcome, int status, Instant now) noexcept {
    if (trace_ == nullptr) return;
    if (status != 0) trace_->on_attempt_head(attempt.attempt().number, status);
    trace_->on_attempt_over(attempt.attempt().number, outcome, now);
  }
  // Puts back what is made of what was read.
  void write(Attempt& attempt) {
    Failure failure;
    failure.report.outcome = Outcome::permanent;
    failure.status = attempt.response().status;
    const auto etag = attempt.response().fields.find("etag");
    if (!etag || !is_strong(*etag)) {
      answer_ = std::move(attempt.response());
      return on_failure(attempt, std::move(failure));
    }
    auto writing = std::make_unique<Request>();
    writing->method = "PUT";
    writing->authority = request_.authority;
    writing->target = request_.target;
    writing->fields = request_.fields;
    writing->fields.set("if-match", *etag);
    if (const auto type = attempt.response().fields.find("content-type")) {
      writing->fields.set("content-type", *type);
    }
    try {
      writing->body = modify_(attempt.response());
    } catch (...) {
      return on_failure(attempt, failed_by_exception().error);
    }
    attempt.writing_ = std::move(writing);
    attempt.RoundTrip::start(attempt.lease().pool(), *attempt.writing_,
                             client_.options_.client.max_response_body);
  }

  GuardedClient& client_;
  Request request_;
  Modify modify_;
  std::unique_ptr<Completion<HttpResult>> completion_;
  Loop::MemberTimer<GuardedCall> clock_;
  AttemptSlots<Attempt> attempts_;
  std::string owner_above_;       // the layer above that retries
  std::string_view owner_;        // the layer that retries; empty: none
  std::string_view criticality_;  // to be sent; empty: none
  std::uint32_t attempt_ = 0;     // of the owner above; 0: the call's own number is sent
  std::optional<Failure> failure_;
  std::optional<Response> answer_;          // the successful response, or the last one
  const std::unique_ptr<CallTrace> trace_;  // nullptr: no tracer
};

GuardedClient::GuardedClient(Loop& loop, Dependency& dependency,
                             const GuardedClientOptions& options)
    : loop_(loop),
      dependency_(dependency),
      options_(options),
      dialer_(loop, options.client.dialer, options.client.resolver),
      replicas_(options.endpoints.size(), options.replicas),
      waiting_(loop) {
  DAMPER_CHECK_VALID(find_error(options));
  if (decide::valid_owner(dependency.name())) owner_ = dependency.name();
  for (const std::string& text : options.endpoints) {
    const Endpoint endpoint = *parse_upstream(text);
    if (endpoint.tls && !tls_) tls_ = *TlsSettings::for_client(options.client.tls);
    pools_.push_back(std::make_unique<Pool>(dialer_, endpoint, options.client.pool,
                                            endpoint.tls ? &*tls_ : nullptr, metrics_));
  }
}

GuardedClient::~GuardedClient() {
  while (!calls_.empty()) calls_.front().cancel();
}

void GuardedClient::begin(Request&& request, const RequestOptions& options, Modify&& modify,
                          std::unique_ptr<Completion<HttpResult>> completion) {
  if (!valid_target(request.target) && request.target != "*") {
    Failure failure = failure_of(CloseReason::malformed, false);
    failure.report.outcome = Outcome::permanent;
    return Completion<HttpResult>::complete(
        std::move(completion), {Verdict::permanent, std::move(failure), 0, std::nullopt});
  }
  const bool by_method = decide::idempotent_method(request.method);
  std::optional<std::string_view> key = request.fields.find(kIdempotencyKeyHeader);
  if (!by_method && !key && options_.make_idempotency_key) {
    request.fields.add(kIdempotencyKeyHeader, make_idempotency_key());
    key = request.fields.find(kIdempotencyKeyHeader);
  }
  decide::Idempotency idempotency = decide::idempotency(request.method, key.value_or(""));
  const bool safe = options.safe.value_or(decide::safe_method(request.method));
  idempotency.by_word = options.idempotent;
  if (options.safe == true && !options.idempotent) idempotency.by_word = true;
  const schedule::Deadline deadline =
      run::Scope::deadline().earlier(schedule::Deadline(options.deadline));
  const engine::CallOptions words{
      // An update's write is repeated on the caller's word alone: see run/update.h.
      .request = {.idempotent =
                      modify ? options.idempotent.value_or(false) : idempotency.repeatable(),
                  .safe = safe,
                  .owned_above = run::Scope::owned_above(),
                  .unsent_owned_above = run::Scope::unsent_owned_above(),
                  .rereads = modify != nullptr},
      .deadline = deadline,
      .from_stranger = run::Scope::is_strangers(deadline)};
  (new GuardedCall(*this, std::move(request), words, options.parent, std::move(modify),
                   std::move(completion)))
      ->start();
}

void GuardedCall::Attempt::start() {
  writing_.reset();
  if (call_.trace_ != nullptr) call_.trace_->on_attempt(attempt(), lease().pool().authority());
  RoundTrip::start(lease().pool(), call_.request_, call_.client_.options_.client.max_response_body);
}

}  // namespace damper::http
