#include "damper/http/headers/arrival.h"

#include <algorithm>

#include "damper/base/bounds.h"
#include "damper/decide/layering.h"
#include "damper/run/outgoing_fields.h"
#include "damper/schedule/deadline_header.h"

namespace damper::http {
namespace {

// The values that are looked for; empty where there is none. Of two of one name the first stands.
struct Values {
  decide::LayerHeaders layer;
  std::string_view criticality;
  std::string_view request_deadline;
  std::string_view grpc_timeout;
  std::string_view envoy_timeout;
};

// Whether there is any of them.
bool collect(std::span<const Field> fields, Values& values) {
  bool found = false;
  const auto take = [&](const Field& field, std::string_view name, std::string_view& into) {
    if (!into.empty() || !same_name(field.name, name)) return;
    into = field.value;
    found = true;
  };
  for (const Field& field : fields) {
    if (field.name.size() < schedule::kGrpcTimeoutHeader.size()) continue;  // The shortest of them.
    take(field, decide::kRetryOwnerHeader, values.layer.retry_owner);
    take(field, decide::kAttemptHeader, values.layer.attempt);
    take(field, decide::kEnvoyAttemptHeader, values.layer.envoy_attempt_count);
    take(field, decide::kGrpcPreviousAttemptsHeader, values.layer.grpc_previous_attempts);
    take(field, run::kCriticalityHeader, values.criticality);
    take(field, schedule::kRequestDeadlineHeader, values.request_deadline);
    take(field, schedule::kGrpcTimeoutHeader, values.grpc_timeout);
    take(field, schedule::kEnvoyTimeoutHeader, values.envoy_timeout);
  }
  return found;
}

Duration remaining(const Values& values, UnixTime wall, const ArrivalOptions& options) {
  std::optional<Duration> earliest;
  const auto consider = [&](std::optional<Duration> found) {
    if (found && (!earliest || *found < *earliest)) earliest = found;
  };
  consider(schedule::find_request_deadline(values.request_deadline, wall));
  consider(schedule::find_grpc_timeout(values.grpc_timeout));
  consider(schedule::find_envoy_timeout(values.envoy_timeout));
  return std::min(earliest.value_or(options.default_deadline), options.longest_deadline);
}

admit::Criticality criticality(std::string_view value, const ArrivalOptions& options) {
  for (std::size_t i = 0; i < admit::kCriticalities; ++i) {
    const auto c = static_cast<admit::Criticality>(i);
    if (value != admit::name(c)) continue;
    return std::max(c, options.trusted ? options.most_critical : options.default_criticality);
  }
  return options.default_criticality;
}

}  // namespace

std::optional<std::string> find_error(const ArrivalOptions& options) {
  constexpr Range<Duration> kDeadline{std::chrono::milliseconds(1), kLongest};
  return BoundsCheck()
      .field("default_deadline", options.default_deadline, kDeadline)
      .field("longest_deadline", options.longest_deadline, kDeadline)
      .error();
}

run::RequestContext read_arrival(std::span<const Field> fields, const ArrivalTime& time,
                                 const ArrivalOptions& options) {
  run::RequestContext inherited;
  Values values;
  if (!collect(fields, values)) {  // As most are.
    const Duration deadline = std::min(options.default_deadline, options.longest_deadline);
    inherited.deadline = schedule::Deadline(add(time.arrived, deadline));
    inherited.criticality = options.default_criticality;
    return inherited;
  }
  if (!options.trusted) {
    values = {.layer = {},
              .criticality = values.criticality,
              .request_deadline = {},
              .grpc_timeout = values.grpc_timeout,
              .envoy_timeout = {}};
  }
  const auto timeout = schedule::find_grpc_timeout(values.grpc_timeout);
  inherited.from_stranger = !options.trusted && timeout && *timeout <= options.longest_deadline;
  const decide::Layer layer = decide::read_layer(values.layer);
  inherited.deadline = schedule::Deadline(add(time.arrived, remaining(values, time.wall, options)));
  inherited.owned_above = {.retries = layer.owned_above, .unsent = layer.owned_above};
  if (decide::valid_owner(values.layer.retry_owner)) {
    inherited.retry_owner = std::string(values.layer.retry_owner);
  }
  inherited.attempt = layer.attempt;
  inherited.criticality = criticality(values.criticality, options);
  return inherited;
}

}  // namespace damper::http
