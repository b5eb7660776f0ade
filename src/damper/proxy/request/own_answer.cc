#include "damper/proxy/request/own_answer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "damper/http/server/guard_refusal.h"

namespace damper::proxy {
namespace {

using decide::Outcome;

constexpr int kInvalidArgument = 3;
constexpr int kDeadlineExceeded = 4;
constexpr int kPermissionDenied = 7;
constexpr int kResourceExhausted = 8;
constexpr int kUnimplemented = 12;
constexpr int kUnavailable = 14;
constexpr Duration kTunnelRetry = std::chrono::seconds(5);  // Tunnels are long-lived.
constexpr Duration kBodyRetry = std::chrono::seconds(1);

struct Row {
  Verdict verdict;
  int status;  // 0: by the outcome of the last attempt
  int grpc_status;
  std::string_view text;
};
constexpr Row kRows[] = {
    {Verdict::deadline_passed, 504, kDeadlineExceeded, "the deadline has passed"},
    {Verdict::deadline_too_close, 504, kDeadlineExceeded,
     "too little time is left before the deadline"},
    {Verdict::switched_off, 503, kUnavailable, "the attempt failed, and retries are switched off"},
    {Verdict::breaker_open, 503, kUnavailable, "the circuit breaker is open"},
    {Verdict::throttled, 503, kResourceExhausted, "the service rejects too much to be asked now"},
    {Verdict::limited, 503, kResourceExhausted, "too many requests are under way"},
    {Verdict::rate_limited, 503, kResourceExhausted, "the rate limit of the attempts is reached"},
    {Verdict::budget_spent, 503, kUnavailable, "the attempt failed, and the retry budget is spent"},
    {Verdict::shed, 503, kResourceExhausted, "too many requests wait"},
    {Verdict::overload, 503, kResourceExhausted, "the service has too much to do"},
    {Verdict::attempts_spent, 0, kUnavailable, "the last of the allowed attempts failed"},
    {Verdict::not_idempotent, 0, kUnavailable, "the attempt failed, and repeating it is not safe"},
    {Verdict::unrepeatable, 0, kUnavailable, "the attempt failed, and its body is not kept"},
};
constexpr Row kOther{Verdict::none, 0, kUnavailable, "the attempt failed"};

}  // namespace

OwnAnswer own_answer(Verdict verdict, Outcome last) noexcept {
  const Row* const found = std::find_if(std::begin(kRows), std::end(kRows),
                                        [&](const Row& row) { return row.verdict == verdict; });
  const Row& row = found == std::end(kRows) ? kOther : *found;
  const int by_outcome = last == Outcome::timeout ? 504 : last == Outcome::overload ? 503 : 502;
  return {.status = row.status != 0 ? row.status : by_outcome,
          .grpc_status = row.grpc_status,
          .verdict = verdict,
          .text = row.text};
}

OwnAnswer own_refusal(Verdict verdict, Duration retry_after) noexcept {
  OwnAnswer answer = own_answer(verdict, decide::Outcome::success);
  if (answer.status != 504) answer.retry_after = std::max(retry_after, Duration{1});
  return answer;
}

OwnAnswer rate_limited(Duration wait) noexcept {
  return {.status = 429,
          .grpc_status = kResourceExhausted,
          .verdict = Verdict::limited,
          .text = "the route's rate limit is reached",
          .retry_after = std::max(wait, Duration{1})};
}

OwnAnswer client_rate_limited(Duration wait) noexcept {
  OwnAnswer answer = rate_limited(wait);
  answer.text = "the client's rate limit is reached";
  return answer;
}

OwnAnswer path_not_allowed() noexcept {
  return {.status = 400,
          .grpc_status = kInvalidArgument,
          .text = "the path has an escape or a segment that is not allowed here"};
}

OwnAnswer no_route() noexcept {
  return {.status = 404, .grpc_status = kUnimplemented, .text = "no route"};
}

OwnAnswer connect_not_allowed() noexcept {
  return {.status = 405, .grpc_status = kUnimplemented, .text = "no route is for CONNECT"};
}

OwnAnswer upgrade_not_allowed() noexcept {
  return {.status = 403,
          .grpc_status = kPermissionDenied,
          .text = "the route does not allow this upgrade"};
}

OwnAnswer too_many_tunnels() noexcept {
  return {.status = 503,
          .grpc_status = kResourceExhausted,
          .verdict = Verdict::limited,
          .text = "the route has max_tunnels tunnels already",
          .retry_after = kTunnelRetry};
}

OwnAnswer no_room() noexcept {
  return {.status = 503,
          .grpc_status = kResourceExhausted,
          .verdict = Verdict::shed,
          .text = "the requests in memory have reached max_kept_bytes",
          .retry_after = kBodyRetry};
}

OwnAnswer body_timed_out() noexcept {
  return {.status = 408,
          .grpc_status = kDeadlineExceeded,
          .verdict = Verdict::deadline_passed,
          .text = "the body did not arrive before the deadline"};
}

OwnAnswer body_stalled() noexcept {
  return {.status = 408,
          .grpc_status = kResourceExhausted,
          .verdict = Verdict::shed,
          .text = "the body stalled, and the requests in memory have reached max_kept_bytes"};
}

std::size_t send(http::Stream& stream, const OwnAnswer& answer, bool grpc, double draw,
                 const AnswerEdits& edits) {
  std::array<http::Field, 8> fields;
  std::size_t count = 0;
  std::array<char, 72> numbers{};
  char* at = numbers.data();
  const auto number = [&](std::int64_t value) {
    char* const begin = at;
    at = std::to_chars(at, numbers.data() + numbers.size(), value).ptr;
    return std::string_view(begin, static_cast<std::size_t>(at - begin));
  };
  const auto add = [&](std::string_view name, std::string_view value) {
    fields[count++] = {name, value};
  };
  if (answer.verdict != Verdict::none) add(http::kVerdictHeader, name(answer.verdict));
  if (answer.attempts > 1) add(kAttemptsHeader, number(answer.attempts));
  if (answer.retry_after > Duration{0}) {
    add("retry-after", number(http::retry_after_seconds(answer.retry_after, draw).count()));
  }
  const auto edited = [&]() -> std::span<const http::Field> {
    const std::span<const http::Field> own = std::span(fields).first(count);
    return edits.fields == nullptr ? own : edits.fields->edit(own, *edits.edits, edits.context);
  };
  if (grpc) {
    add("content-type", "application/grpc");
    add("grpc-status", number(answer.grpc_status));
    add("grpc-message", answer.text);
    stream.send_head({.status = 200, .fields = edited()}, true);
    return 0;
  }
  add("content-type", "text/plain");
  const std::string body = std::string("damper: ").append(answer.text).append("\n");
  stream.send_head({.status = answer.status, .fields = edited(), .content_length = body.size()},
                   false);
  (void)stream.send_data(body, true);  // A new stream accepts more than this.
  return body.size();
}

}  // namespace damper::proxy
