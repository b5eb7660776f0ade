#include <array>
#include <memory>
#include <utility>

#include "damper/webhooks/api/api_handler.h"
#include "damper/webhooks/api/api_handler_back.h"
#include "damper/webhooks/api/api_json.h"
#include "damper/webhooks/api/bodies.h"

namespace damper::webhooks {
namespace {

constexpr std::size_t kRedriveBatch = 1000;  // letters of a transaction, which others share

}  // namespace

// The letters are counted first, so that the answer has their number.
void ApiHandler::create_redrive(const Call& call) {
  auto body = parse_redrives(call.exchange->request().body);
  if (!body) return refuse(call, body.error());
  auto job = std::make_shared<RedriveJob>();
  job->application = call.application;
  job->filter = std::move(body->filter);
  job->started = now_();
  for (const Endpoint* const endpoint : directory_.endpoints_of(call.application)) {
    if (!body->endpoint || endpoint->id == *body->endpoint) job->endpoints.push_back(endpoint->id);
  }
  if (body->endpoint && job->endpoints.empty()) {
    return refuse(call, ApiError{.status = 404,
                                 .code = "not_found",
                                 .sentence = "the application has no such endpoint"});
  }
  if (!job->filter.dry_run && running_redrives_ >= kMostRunning) {
    return refuse(call, ApiError{.status = 409,
                                 .code = "limit",
                                 .sentence = std::to_string(kMostRunning) +
                                             " redrives are running, the limit: wait for one"});
  }
  if (!job->filter.dry_run) ++running_redrives_;
  count_redrive(call, job, 0);
}

void ApiHandler::count_redrive(const Call& call, const RedriveJobPtr& job, std::size_t next) {
  if (next == job->endpoints.size()) return begin_redrive(call, job);
  RedriveFilter filter = job->filter;
  filter.endpoint = job->endpoints[next];
  filter.dry_run = true;
  store_.redrive(
      filter, job->started,
      back<Redriven>(call, [this, call, job, next](Expected<Redriven, StoreError>& done) {
        if (!done) {
          if (!job->filter.dry_run) --running_redrives_;
          return refuse(call, done.error());
        }
        job->total += done->count;
        count_redrive(call, job, next + 1);
      }));
}

void ApiHandler::begin_redrive(const Call& call, const RedriveJobPtr& job) {
  if (job->filter.dry_run) {
    job->state = RedriveState::dry_run;
    return respond(call, redrive_json(*job));
  }
  job->id = ids_.next(job->started);
  redrives_.push_back(job);
  if (redrives_.size() > kMostRedrives) redrives_.pop_front();
  respond(call, redrive_json(*job));
  continue_redrive(call, job);
}

// Due times are spread by the rate over all endpoints: the n-th letter is due n / rate later.
void ApiHandler::continue_redrive(const Call& call, const RedriveJobPtr& job) {
  if (job->state == RedriveState::running && job->endpoints.empty()) {
    job->state = RedriveState::done;
  }
  if (job->state != RedriveState::running) {
    --running_redrives_;
    return;
  }
  RedriveFilter filter = job->filter;
  filter.endpoint = job->endpoints.back();
  filter.most = kRedriveBatch;
  const double later = static_cast<double>(job->count) * 1000 / filter.rate_per_second;
  const UnixTime due =
      std::max(now_(), job->started + std::chrono::milliseconds(static_cast<std::int64_t>(later)));
  store_.redrive(filter, due,
                 back<Redriven>(call, [this, call, job, due](Expected<Redriven, StoreError>& done) {
                   if (!done) {
                     job->state = RedriveState::failed;
                     job->error = report_unavailable(done.error());
                     return continue_redrive(call, job);
                   }
                   const Id endpoint = job->endpoints.back();
                   job->count += done->count;
                   if (done->count > 0 && !job->filter.discard) {
                     deliveries_.on_due(std::array{endpoint}, due);
                   }
                   if (done->remaining == 0 || done->count == 0) job->endpoints.pop_back();
                   continue_redrive(call, job);
                 }));
}

ApiHandler::RedriveJobPtr ApiHandler::find_redrive(const Call& call) const {
  for (const RedriveJobPtr& job : redrives_) {
    if (job->application == call.application && id_text(kRedrivePrefix, job->id) == call.id) {
      return job;
    }
  }
  return nullptr;
}

void ApiHandler::get_redrive(const Call& call) {
  const RedriveJobPtr job = find_redrive(call);
  if (job == nullptr) return refuse_unknown(call, "redrive");
  respond(call, redrive_json(*job));
}

void ApiHandler::stop_redrive(const Call& call) {
  const RedriveJobPtr job = find_redrive(call);
  if (job == nullptr) return refuse_unknown(call, "redrive");
  if (job->state == RedriveState::running) job->state = RedriveState::stopped;
  respond(call, redrive_json(*job));
}

void ApiHandler::list_redrives(const Call& call) {
  std::vector<RedriveJob> jobs;
  for (auto job = redrives_.rbegin(); job != redrives_.rend(); ++job) {
    if ((*job)->application == call.application) jobs.push_back(**job);
  }
  respond(call, redrives_json(jobs));
}

}  // namespace damper::webhooks
