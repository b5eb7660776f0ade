#include "damper/webhooks/dispatch/endpoint_worker.h"

#include <algorithm>
#include <utility>

#include "damper/webhooks/dispatch/delivery_span.h"
#include "damper/webhooks/signature.h"

namespace damper::webhooks {

std::shared_ptr<const engine::DeliveryPolicy> policy_of(
    const EndpointConfig& config, const std::shared_ptr<const engine::DeliveryPolicy>& defaults) {
  engine::DeliveryPolicy policy = *defaults;
  bool changed = false;
  if (config.timeout) {
    policy.timeout = *config.timeout;
    changed = true;
  }
  if (config.retries) {
    if (auto listed = schedule::ListedDelays::from(*config.retries, policy.retries.spread())) {
      policy.retries = *listed;
      policy.backoff.reset();
      changed = true;
    }
  }
  if (config.schedule == RetrySchedule::listed && policy.backoff) {
    policy.backoff.reset();
    changed = true;
  } else if (config.schedule && *config.schedule != RetrySchedule::listed) {
    policy.backoff = backoff_of(*config.schedule, config.backoff_base.value_or(kBackoffBase),
                                config.backoff_cap.value_or(kBackoffCap));
    policy.max_attempts = config.max_attempts.value_or(kBackoffAttempts);
    changed = true;
  }
  if (config.max_age) {
    policy.max_age = *config.max_age;
    changed = true;
  }
  if (config.concurrency != policy.concurrency) {
    policy.concurrency = config.concurrency;
    changed = true;
  }
  if (config.rate) {
    policy.rate = {.rate_per_second = *config.rate,
                   .burst = static_cast<std::int32_t>(std::clamp(*config.rate, 1.0, 1e6))};
    changed = true;
  }
  if (!changed || find_error(policy)) return defaults;
  return std::make_shared<const engine::DeliveryPolicy>(policy);
}

EndpointWorker::EndpointWorker(http::Loop& loop, EndpointWorkerOwner& owner,
                               const Endpoint& endpoint,
                               const std::shared_ptr<const engine::DeliveryPolicy>& defaults,
                               HostProbes host, admit::TokenBucket& all)
    : owner_(owner),
      id_(endpoint.id),
      application_(endpoint.application),
      policy_(policy_of(endpoint.config, defaults)),
      host_(std::move(host)),
      gate_(*policy_, {.host = host_.get(), .all = &all}),
      clock_(loop, *this, &EndpointWorker::on_clock) {
  configure(endpoint);
}

void EndpointWorker::reload(const Endpoint& endpoint,
                            const std::shared_ptr<const engine::DeliveryPolicy>& defaults,
                            Instant now) {
  auto policy = policy_of(endpoint.config, defaults);
  gate_.reload(*policy, now);
  policy_ = std::move(policy);
  const http::Url before = url_;
  const bool was_disabled = disabled_;
  configure(endpoint);
  const bool moved = url_.endpoint != before.endpoint || url_.target != before.target;
  if (moved || (was_disabled && !disabled_)) gate_.reset(now);
}

void EndpointWorker::configure(const Endpoint& endpoint) {
  const EndpointConfig& config = endpoint.config;
  disabled_ = config.disabled;
  ordered_ = config.ordering != Ordering::none;
  client_errors_end_ = config.client_errors_end;
  skip_policy_.reset();
  if (config.ordering == Ordering::by_key_skip) {
    engine::DeliveryPolicy once = *policy_;
    once.backoff.reset();
    once.retries = {};
    skip_policy_ = std::make_shared<const engine::DeliveryPolicy>(once);
  }
  url_error_.clear();
  if (auto url = http::parse_url(config.url)) {
    url_ = *std::move(url);
  } else {
    url_error_ = "the URL cannot be used: " + url.error();
  }
  headers_ = http::FieldList();
  for (const auto& [name, value] : config.headers) headers_.add(name, value);
  keys_.clear();
  for (const EndpointSecret& secret : config.secrets) {
    if (auto key = SigningKey::parse(secret.key))
      keys_.push_back({*std::move(key), secret.expires});
  }
}

const engine::DeliveryPolicy& EndpointWorker::policy_of_message(const Message& message) const {
  return skip_policy_ != nullptr && !message.ordering_key.empty() ? *skip_policy_ : *policy_;
}

Expected<http::Request> EndpointWorker::make_request(const Delivery& delivery, UnixTime now,
                                                     const observe::SpanContext& span) const {
  if (!url_error_.empty()) return unexpected(url_error_);
  const Message& message = *delivery.message;
  std::vector<SigningKey> keys;
  keys.reserve(keys_.size());
  for (const Key& key : keys_) {
    if (!key.expires || now < *key.expires) keys.push_back(key.key);
  }
  const auto headers = sign(keys, id_text(kMessagePrefix, message.id), now, message.payload);
  if (!headers) return unexpected("it cannot be signed: " + headers.error());
  http::Request request;
  request.method = "POST";
  request.scheme = std::string(url_.endpoint.scheme());
  request.authority = url_.endpoint.authority();
  request.target = url_.target;
  request.fields = headers_;
  if (!request.fields.find("user-agent")) request.fields.add("user-agent", "damper-webhooks");
  request.fields.add("content-type", "application/json");
  request.fields.add(kIdHeader, headers->id);
  request.fields.add(kTimestampHeader, headers->timestamp);
  request.fields.add(kSignatureHeader, headers->signature);
  if (span && !request.fields.find(observe::kTraceparentHeader)) {
    request.fields.add(observe::kTraceparentHeader, traceparent_text(span));
  }
  request.body = message.payload;
  return request;
}

bool EndpointWorker::on_due(UnixTime due) noexcept {
  if (firsts_from) firsts_from = std::min(*firsts_from, due);
  if (next_due_ && *next_due_ <= due) return false;
  next_due_ = due;
  return true;
}

void EndpointWorker::on_proxy(bool has_failed, Instant now, double draw) noexcept {
  if (!has_failed) {
    proxy_failures_ = 0;
    proxy_held_until_ = Instant::min();
    return;
  }
  if (proxy_held_until_ > now) return;  // Of an attempt that was in flight beside it.
  const Duration pause =
      std::min<Duration>(std::chrono::seconds(1) * (1 << proxy_failures_), kLongestProxyPause);
  proxy_failures_ = std::min(proxy_failures_ + 1, 5U);
  const auto less = std::chrono::duration_cast<Duration>(pause * (draw / 2));
  proxy_held_until_ = add(now, pause - less);
}

std::optional<Instant> EndpointWorker::held_by_proxy(Instant now) const noexcept {
  if (proxy_failures_ == 0) return std::nullopt;
  if (proxy_held_until_ > now) return proxy_held_until_;
  return gate_.in_flight() > 0 ? std::optional(kNever) : std::nullopt;
}

void EndpointWorker::on_clock(Instant /*now*/) { owner_.on_wake(*this); }

}  // namespace damper::webhooks
