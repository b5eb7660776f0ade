#include <array>
#include <span>
#include <string_view>

#include "damper/webhooks/api/schema.h"

namespace damper::webhooks {
namespace {

using Kind = FieldKind;
constexpr bool kRequired = true;
constexpr bool kNullable = true;

constexpr std::array kNewApplicationFields = std::to_array<SchemaField>({
    {"name", Kind::text, "[a-z0-9] first, then also -, _ and .; at most 64 characters", kRequired},
});

constexpr SchemaField kUrl{"url", Kind::text, "http or https; checked again at each connect"};
constexpr SchemaField kDescription{"description", Kind::text, "for people"};
constexpr SchemaField kTypes{"types", Kind::texts,
                             "event types such as invoice.paid or invoice.*; empty: all"};
constexpr SchemaField kChannels{"channels", Kind::texts, "empty: all"};
constexpr SchemaField kHeaders{"headers", Kind::text_map, "sent with each attempt"};
constexpr SchemaField kConcurrency{"concurrency", Kind::integer, "attempts in flight, 1 to 1000"};
constexpr SchemaField kRate{"rate", Kind::number, "attempts a second; null: unbounded", false,
                            kNullable};
constexpr SchemaField kTimeout{"timeout", Kind::duration,
                               "of an attempt, 100ms to 5m; null: the dispatcher's", false,
                               kNullable};
constexpr SchemaField kRetries{"retries", Kind::durations,
                               "mean delays before the retries, at most 32; null: the dispatcher's",
                               false, kNullable};
constexpr SchemaField kSchedule{
    "schedule", Kind::text,
    "of the retries: listed, full, equal or decorrelated (the jitter of an exponential one); null: "
    "the dispatcher's, or listed if there are `retries`",
    false, kNullable};
constexpr SchemaField kBase{"backoff_base", Kind::duration, "of an exponential schedule; null: 5s",
                            false, kNullable};
constexpr SchemaField kCap{"backoff_cap", Kind::duration, "of an exponential schedule; null: 4h",
                           false, kNullable};
constexpr SchemaField kMaxAttempts{"max_attempts", Kind::integer,
                                   "of an exponential schedule; null: 20", false, kNullable};
constexpr SchemaField kMaxAge{"max_age", Kind::duration,
                              "of a delivery, 1s to 30d; null: the dispatcher's", false, kNullable};
constexpr SchemaField kClientErrorsEnd{
    "client_errors_end", Kind::boolean,
    "4xx makes a dead letter at once, but for 408, 425 and 429; false: it is retried"};
constexpr SchemaField kFilter{
    "filter", Kind::text_map,
    "paths in the payload and their values, such as data.country: DE; all must be equal, as text; "
    "at most 16"};
constexpr SchemaField kOrdering{
    "ordering", Kind::text,
    "none; by_key: of one key one after the other, a failing one blocks the next until it is "
    "delivered or dead; by_key_skip: a failing one is a dead letter at once"};
constexpr SchemaField kDisabled{"disabled", Kind::boolean, "it gets no messages"};
constexpr SchemaField kDisabledReason{"disabled_reason", Kind::text, "why, for people"};
constexpr SchemaField kGivenSecret{"secret", Kind::text,
                                   "whsec_... or whsk_...; without it one is made"};

[[nodiscard]] constexpr SchemaField required(SchemaField field) {
  field.required = true;
  return field;
}

constexpr std::array kNewEndpointFields = std::to_array<SchemaField>(
    {required(kUrl),   kDescription, kTypes,    kChannels,       kFilter,
     kHeaders,         kConcurrency, kRate,     kTimeout,        kRetries,
     kSchedule,        kBase,        kCap,      kMaxAttempts,    kMaxAge,
     kClientErrorsEnd, kOrdering,    kDisabled, kDisabledReason, kGivenSecret});
constexpr std::array kEndpointChangeFields = std::to_array<SchemaField>(
    {kUrl, kDescription, kTypes, kChannels, kFilter, kHeaders, kConcurrency, kRate, kTimeout,
     kRetries, kSchedule, kBase, kCap, kMaxAttempts, kMaxAge, kClientErrorsEnd, kOrdering,
     kDisabled, kDisabledReason});
constexpr std::array kRotationFields = std::to_array<SchemaField>({
    {"grace", Kind::duration, "the old secret signs as well for this time; 0s: revoked; 24h"},
    kGivenSecret,
});
constexpr std::array kNewMessageFields = std::to_array<SchemaField>({
    {"type", Kind::text, "an event type such as invoice.paid", kRequired},
    {"payload", Kind::any, "delivered as its bytes in this request", kRequired},
    {"channel", Kind::text, "for the endpoints of this channel, and those without channels"},
    {"ordering_key", Kind::text, "of endpoints with ordering by_key"},
    {"idempotency_key", Kind::text, "or the header Idempotency-Key"},
});
constexpr SchemaField kOneMessage{"message", Kind::text, "this one alone"};
constexpr SchemaField kFrom{"from", Kind::time, "those that died at this time or later"};
constexpr SchemaField kUntil{"until", Kind::time, "those that died before"};
constexpr SchemaField kOfType{"type", Kind::text, "those of this event type"};
constexpr SchemaField kOfReason{"reason", Kind::text, "those with this reason"};
constexpr SchemaField kDryRun{"dry_run", Kind::boolean, "count only"};
constexpr SchemaField kRedriveRate{"rate", Kind::number,
                                   "deliveries a second, 0.001 to 100000; 100"};
constexpr SchemaField kDelete{"delete", Kind::boolean, "delete them instead"};
constexpr std::array kRedriveFields = std::to_array<SchemaField>(
    {kOneMessage, kFrom, kUntil, kOfType, kOfReason, kDryRun, kRedriveRate, kDelete});
constexpr std::array kNewRedriveFields = std::to_array<SchemaField>(
    {{"endpoint", Kind::text, "of this endpoint alone; without it, of all of the application"},
     kOneMessage,
     kFrom,
     kUntil,
     kOfType,
     kOfReason,
     kDryRun,
     kRedriveRate,
     kDelete});
constexpr std::array kSwitchOrderFields = std::to_array<SchemaField>({
    {"off", Kind::boolean, "hold them", kRequired},
    {"reason", Kind::text, "required with off: true; at most 120 bytes"},
    {"for", Kind::duration, "then it is on again"},
});

constexpr std::array kApplicationFields = std::to_array<SchemaField>({
    {"name", Kind::text, "", kRequired},
    {"endpoints", Kind::integer, "how many", kRequired},
});
constexpr SchemaField kNext{"next", Kind::text, "of the next page; null: this is the last one",
                            kRequired, kNullable};
constexpr std::array kApplicationListFields = std::to_array<SchemaField>(
    {{"data", Kind::list, "by name", kRequired, false, &kApplication}, kNext});

constexpr std::array kEndpointStatusFields = std::to_array<SchemaField>({
    {"breaker", Kind::text, "closed, open or half_open", kRequired},
    {"in_flight", Kind::integer, "attempts", kRequired},
    {"next_due", Kind::time, "of its first waiting delivery", kRequired, kNullable},
    {"blocked_until", Kind::time, "open breaker, or the server's retry time", kRequired, kNullable},
    {"last_error", Kind::text, "of its last failed attempt", kRequired, kNullable},
    {"delivered", Kind::integer, "since the start", kRequired},
    {"failed", Kind::integer, "attempts, since the start", kRequired},
    {"held", Kind::text, "by a switch: deliveries or retries", kRequired, kNullable},
    {"held_scope", Kind::text, "of that switch: all, application or endpoint", kRequired,
     kNullable},
});
constexpr std::array kEndpointFields =
    std::to_array<SchemaField>({{"id", Kind::text, "", kRequired},
                                {"created", Kind::time, "", kRequired},
                                required(kUrl),
                                required(kDescription),
                                required(kTypes),
                                required(kChannels),
                                required(kFilter),
                                required(kHeaders),
                                required(kConcurrency),
                                required(kRate),
                                required(kTimeout),
                                required(kRetries),
                                required(kSchedule),
                                required(kBase),
                                required(kCap),
                                required(kMaxAttempts),
                                required(kMaxAge),
                                required(kClientErrorsEnd),
                                required(kOrdering),
                                required(kDisabled),
                                kDisabledReason,
                                {"secrets", Kind::integer, "how many sign", kRequired},
                                {"secret", Kind::text, "in the answer to its creation alone"},
                                {"status", Kind::object, "", kRequired, false, &kEndpointStatus}});
constexpr std::array kEndpointListFields = std::to_array<SchemaField>(
    {{"data", Kind::list, "newest first", kRequired, false, &kEndpoint}, kNext});
constexpr std::array kSecretFields = std::to_array<SchemaField>({
    {"secret", Kind::text, "the newest one", kRequired},
    {"verifying_key", Kind::text, "what a receiver needs: the secret, or whpk_...", kRequired},
    {"others", Kind::integer, "older ones that sign as well", kRequired},
});
constexpr std::array kAcceptedFields = std::to_array<SchemaField>({
    {"id", Kind::text, "the value of webhook-id", kRequired},
    {"endpoints", Kind::integer, "that match it", kRequired},
    {"repeated", Kind::boolean, "the idempotency key was known: nothing was written", kRequired},
});
constexpr SchemaField kMessageId{"id", Kind::text, "", kRequired};
constexpr SchemaField kMessageType{"type", Kind::text, "", kRequired};
constexpr SchemaField kCreated{"created", Kind::time, "", kRequired};
constexpr SchemaField kChannel{"channel", Kind::text, ""};
constexpr SchemaField kOrderingKey{"ordering_key", Kind::text, ""};
constexpr SchemaField kIdempotencyKey{"idempotency_key", Kind::text, ""};
constexpr SchemaField kBytes{"bytes", Kind::integer, "of the payload", kRequired};
constexpr std::array kMessageFields = std::to_array<SchemaField>(
    {kMessageId, kMessageType, kCreated, kChannel, kOrderingKey, kIdempotencyKey, kBytes});
constexpr std::array kMessageListFields = std::to_array<SchemaField>(
    {{"data", Kind::list, "newest first", kRequired, false, &kMessage}, kNext});
constexpr std::array kWaitingFields = std::to_array<SchemaField>({
    {"endpoint", Kind::text, "", kRequired},
    {"due", Kind::time, "", kRequired},
    {"attempts", Kind::integer, "that counted", kRequired},
});
constexpr std::array kAttemptFields = std::to_array<SchemaField>({
    {"number", Kind::integer, "of the log", kRequired},
    {"message", Kind::text, "", kRequired},
    {"endpoint", Kind::text, "", kRequired},
    {"attempt", Kind::integer, "of the delivery, from 1", kRequired},
    {"time", Kind::time, "of its end", kRequired},
    {"duration", Kind::duration, "", kRequired},
    {"status", Kind::integer, "null: no answer", kRequired, kNullable},
    {"outcome", Kind::text, "", kRequired},
    {"error", Kind::text, "why there is no answer"},
    {"answer", Kind::text, "the beginning of its body"},
});
constexpr std::array kAttemptListFields = std::to_array<SchemaField>(
    {{"data", Kind::list, "newest first", kRequired, false, &kAttempt},
     {"next", Kind::integer, "of the next page; null: this is the last one", kRequired,
      kNullable}});
constexpr std::array kDeadLetterFields = std::to_array<SchemaField>({
    {"endpoint", Kind::text, "", kRequired},
    {"message", Kind::text, "", kRequired},
    {"time", Kind::time, "", kRequired},
    {"attempts", Kind::integer, "", kRequired},
    {"reason", Kind::text, "", kRequired},
});
constexpr std::array kDeadLetterListFields = std::to_array<SchemaField>(
    {{"data", Kind::list, "newest message first", kRequired, false, &kDeadLetter}, kNext});
constexpr std::array kMessageDetailsFields = std::to_array<SchemaField>(
    {kMessageId,
     kMessageType,
     kCreated,
     kChannel,
     kOrderingKey,
     kIdempotencyKey,
     kBytes,
     {"payload", Kind::any, "a string if it is not JSON", kRequired},
     {"waiting", Kind::list, "deliveries", kRequired, false, &kWaiting},
     {"dead", Kind::list, "dead letters", kRequired, false, &kDeadLetter},
     {"attempts", Kind::list, "the newest 50", kRequired, false, &kAttempt}});
constexpr std::array kRedrivenFields = std::to_array<SchemaField>({
    {"count", Kind::integer, "that are due again; with dry_run: that would be", kRequired},
    {"remaining", Kind::integer, "repeat the request while it is not 0", kRequired},
});
constexpr std::array kRedriveJobFields = std::to_array<SchemaField>({
    {"id", Kind::text, "null: with dry_run", kRequired, kNullable},
    {"state", Kind::text, "dry_run, running, done, stopped or failed", kRequired},
    {"started", Kind::time, "", kRequired},
    {"total", Kind::integer, "letters that matched when it started", kRequired},
    {"count", Kind::integer, "that are due again, or deleted", kRequired},
    {"rate", Kind::number, "deliveries a second", kRequired},
    {"delete", Kind::boolean, "", kRequired},
    {"error", Kind::text, "why it has failed", kRequired, kNullable},
});
constexpr std::array kRedriveJobListFields = std::to_array<SchemaField>(
    {{"data", Kind::list, "at most 100 of all applications", kRequired, false, &kRedriveJob}});
constexpr std::array kSwitchFields = std::to_array<SchemaField>({
    {"name", Kind::text, "deliveries or retries", kRequired},
    {"application", Kind::text, "null: of all", kRequired, kNullable},
    {"endpoint", Kind::text, "null: of all of the application", kRequired, kNullable},
    {"off", Kind::boolean, "", kRequired},
    {"reason", Kind::text, "", kRequired, kNullable},
    {"remaining", Kind::duration, "null: until it is turned on", kRequired, kNullable},
});
constexpr std::array kSwitchListFields =
    std::to_array<SchemaField>({{"data", Kind::list, "those of the request, and what is held below",
                                 kRequired, false, &kSwitch}});
constexpr std::array kStatsFields =
    std::to_array<SchemaField>({{"applications", Kind::integer, "", kRequired},
                                {"endpoints", Kind::integer, "", kRequired},
                                {"messages", Kind::integer, "in the store", kRequired},
                                {"waiting", Kind::integer, "deliveries", kRequired},
                                {"dead", Kind::integer, "letters in the store", kRequired},
                                {"logged_attempts", Kind::integer, "in the store", kRequired},
                                {"attempts", Kind::integer, "since the start", kRequired},
                                {"delivered", Kind::integer, "since the start", kRequired},
                                {"failed", Kind::integer, "attempts, since the start", kRequired},
                                {"died", Kind::integer, "deliveries, since the start", kRequired},
                                {"in_flight", Kind::integer, "attempts", kRequired},
                                {"switches", Kind::list, "", kRequired, false, &kSwitch}});
constexpr std::array kHealthFields = std::to_array<SchemaField>({
    {"status", Kind::text, "ok", kRequired},
});
constexpr std::array kErrorFields = std::to_array<SchemaField>({
    {"error", Kind::text, "one sentence", kRequired},
    {"code", Kind::text, "a word for programs", kRequired},
});

}  // namespace

constinit const Schema kNewApplication{"NewApplication", kNewApplicationFields};
constinit const Schema kNewEndpoint{"NewEndpoint", kNewEndpointFields};
constinit const Schema kEndpointChange{"EndpointChange", kEndpointChangeFields};
constinit const Schema kRotation{"Rotation", kRotationFields};
constinit const Schema kNewMessage{"NewMessage", kNewMessageFields};
constinit const Schema kRedrive{"Redrive", kRedriveFields};
constinit const Schema kNewRedrive{"NewRedrive", kNewRedriveFields};
constinit const Schema kSwitchOrder{"SwitchOrder", kSwitchOrderFields};
constinit const Schema kApplication{"Application", kApplicationFields};
constinit const Schema kApplicationList{"ApplicationList", kApplicationListFields};
constinit const Schema kEndpointStatus{"EndpointStatus", kEndpointStatusFields};
constinit const Schema kEndpoint{"Endpoint", kEndpointFields};
constinit const Schema kEndpointList{"EndpointList", kEndpointListFields};
constinit const Schema kSecretAnswer{"Secret", kSecretFields};
constinit const Schema kAcceptedMessage{"Accepted", kAcceptedFields};
constinit const Schema kMessage{"Message", kMessageFields};
constinit const Schema kMessageList{"MessageList", kMessageListFields};
constinit const Schema kWaiting{"Waiting", kWaitingFields};
constinit const Schema kAttempt{"Attempt", kAttemptFields};
constinit const Schema kAttemptList{"AttemptList", kAttemptListFields};
constinit const Schema kDeadLetter{"DeadLetter", kDeadLetterFields};
constinit const Schema kDeadLetterList{"DeadLetterList", kDeadLetterListFields};
constinit const Schema kMessageDetails{"MessageDetails", kMessageDetailsFields};
constinit const Schema kRedriven{"Redriven", kRedrivenFields};
constinit const Schema kRedriveJob{"RedriveJob", kRedriveJobFields};
constinit const Schema kRedriveJobList{"RedriveJobList", kRedriveJobListFields};
constinit const Schema kSwitch{"Switch", kSwitchFields};
constinit const Schema kSwitchList{"SwitchList", kSwitchListFields};
constinit const Schema kStats{"Stats", kStatsFields};
constinit const Schema kHealth{"Health", kHealthFields};
constinit const Schema kError{"Error", kErrorFields};

std::span<const Schema* const> all_schemas() noexcept {
  static constexpr std::array kAll = std::to_array<const Schema*>(
      {&kNewApplication, &kNewEndpoint,     &kEndpointChange, &kRotation,       &kNewMessage,
       &kRedrive,        &kNewRedrive,      &kRedriveJob,     &kRedriveJobList, &kSwitchOrder,
       &kApplication,    &kApplicationList, &kEndpointStatus, &kEndpoint,       &kEndpointList,
       &kSecretAnswer,   &kAcceptedMessage, &kMessage,        &kMessageList,    &kWaiting,
       &kAttempt,        &kAttemptList,     &kDeadLetter,     &kDeadLetterList, &kMessageDetails,
       &kRedriven,       &kSwitch,          &kSwitchList,     &kStats,          &kHealth,
       &kError});
  return kAll;
}

}  // namespace damper::webhooks
