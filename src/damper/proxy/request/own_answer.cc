#include "damper/proxy/request/own_answer.h"

#include <array>
#include <charconv>
#include <string>

#include "damper/http/server/guard_refusal.h"

namespace damper::proxy {
namespace {

using decide::Outcome;

constexpr int kDeadlineExceeded = 4;
constexpr int kResourceExhausted = 8;
constexpr int kUnimplemented = 12;

std::string_view sentence(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::deadline_passed: return "the deadline has passed";
    case Verdict::deadline_too_close: return "too little time is left before the deadline";
    case Verdict::switched_off: return "the attempt failed, and retries are switched off";
    case Verdict::breaker_open: return "the circuit breaker is open";
    case Verdict::throttled: return "the service rejects too much to be asked now";
    case Verdict::limited: return "too many requests are under way";
    case Verdict::budget_spent: return "the attempt failed, and the retry budget is spent";
    case Verdict::shed: return "too many requests wait";
    case Verdict::overload: return "the service has too much to do";
    case Verdict::attempts_spent: return "the last of the allowed attempts failed";
    case Verdict::not_idempotent: return "the attempt failed, and repeating it is not safe";
    case Verdict::unrepeatable: return "the attempt failed, and its body is not kept";
    default: return "the attempt failed";
  }
}

}  // namespace

OwnAnswer own_answer(Verdict verdict, Outcome last) noexcept {
  OwnAnswer answer{.verdict = verdict, .text = sentence(verdict)};
  switch (verdict) {
    case Verdict::deadline_passed:
    case Verdict::deadline_too_close:
      answer.status = 504;
      answer.grpc_status = kDeadlineExceeded;
      break;
    case Verdict::limited:
    case Verdict::shed:
    case Verdict::throttled:
    case Verdict::overload: answer.grpc_status = kResourceExhausted; break;
    case Verdict::breaker_open:
    case Verdict::budget_spent:
    case Verdict::switched_off: break;
    default:
      answer.status = last == Outcome::timeout ? 504 : last == Outcome::overload ? 503 : 502;
      break;
  }
  return answer;
}

OwnAnswer rate_limited(Duration wait) noexcept {
  return {.status = 429,
          .grpc_status = kResourceExhausted,
          .verdict = Verdict::limited,
          .text = "the route's rate limit is reached",
          .retry_after = std::max(wait, Duration{1})};
}

OwnAnswer no_route() noexcept {
  return {.status = 404, .grpc_status = kUnimplemented, .text = "no route"};
}

OwnAnswer connect_not_allowed() noexcept {
  return {.status = 405, .grpc_status = kUnimplemented, .text = "no route is for CONNECT"};
}

void send(http::Stream& stream, const OwnAnswer& answer, bool grpc, double draw) {
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
  if (grpc) {
    add("content-type", "application/grpc");
    add("grpc-status", number(answer.grpc_status));
    add("grpc-message", answer.text);
    return stream.send_head({.status = 200, .fields = std::span(fields).first(count)}, true);
  }
  add("content-type", "text/plain");
  const std::string body = std::string("damper: ").append(answer.text).append("\n");
  stream.send_head({.status = answer.status,
                    .fields = std::span(fields).first(count),
                    .content_length = body.size()},
                   false);
  (void)stream.send_data(body, true);  // A new stream accepts more than this.
}

}  // namespace damper::proxy
