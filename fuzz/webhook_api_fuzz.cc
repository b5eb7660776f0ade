// Input: the body of any request of the webhook API, a file of tokens, a path, a time. A valid body
// is within its bounds; the payload of a message is a part of the input, and one JSON value; the
// error of an invalid one is a short sentence.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/admit/reason.h"
#include "damper/base/check.h"
#include "damper/base/text/json_reader.h"
#include "damper/http/client/url.h"
#include "damper/webhooks/api/api_tokens.h"
#include "damper/webhooks/api/bodies.h"
#include "damper/webhooks/api/routes.h"
#include "damper/webhooks/api/time_text.h"

namespace {

using namespace damper;            // NOLINT(google-build-using-namespace)
using namespace damper::webhooks;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kMostPayload = 4096;

void check_error(const ApiError& error) {
  DAMPER_CHECK(error.status == 400 || error.status == 413);
  DAMPER_CHECK(!error.code.empty());
  DAMPER_CHECK(!error.sentence.empty() && error.sentence.size() < 1000);
}

void check_message(std::string_view body) {
  const auto message = parse_message(body, kMostPayload);
  if (!message) return check_error(message.error());
  DAMPER_CHECK(is_event_type(message->type));
  DAMPER_CHECK(message->channel.empty() || is_event_type(message->channel));
  DAMPER_CHECK(message->ordering_key.size() <= kMostTypeBytes);
  DAMPER_CHECK(message->idempotency_key.size() <= kMostKeyBytes);
  DAMPER_CHECK(!message->payload.empty() && message->payload.size() <= kMostPayload);
  DAMPER_CHECK(message->payload.data() >= body.data() &&
               message->payload.data() + message->payload.size() <= body.data() + body.size());
  // Read again, as the raw field of another object: it is one value and nothing else.
  const std::string again = "{\"p\":" + std::string(message->payload) + "}";
  const auto read = text::read_json(again, {.bytes = again.size(), .depth = 64, .raw_field = "p"});
  DAMPER_CHECK(read && read->fields.size() == 1);
  const text::JsonValue& value = read->fields[0].second;
  DAMPER_CHECK(value.begin == 5 && value.end == 5 + message->payload.size());
}

void check_endpoint(std::string_view body) {
  const http::EgressGuard guard;
  EndpointConfig config;
  if (const auto error = apply_new_endpoint(body, &guard, config)) {
    check_error(*error);
  } else {
    DAMPER_CHECK(!find_error(config));
    DAMPER_CHECK(static_cast<bool>(http::parse_url(config.url, guard)));
    DAMPER_CHECK(config.disabled == !config.disabled_reason.empty());
  }
  EndpointConfig known{.url = "http://example.com/"};
  known.secrets = {{.key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}};
  if (const auto error = apply_endpoint_change(body, nullptr, known)) {
    check_error(*error);
  } else {
    DAMPER_CHECK(!find_error(known) && known.secrets.size() == 1);
  }
  if (const auto rotation = parse_rotation(body)) {
    rotate(known, *rotation, UnixTime{std::chrono::seconds(1000)});
    DAMPER_CHECK(known.secrets.front().key == rotation->secret && known.secrets.size() <= 10);
  } else {
    check_error(rotation.error());
  }
}

void check_others(std::string_view body) {
  if (const auto name = parse_application(body)) {
    DAMPER_CHECK(is_application_name(*name));
  } else {
    check_error(name.error());
  }
  if (const auto filter = parse_redrive(body, Id{7})) {
    DAMPER_CHECK(filter->endpoint == Id{7});
    DAMPER_CHECK(EndpointConfig::kRate.contains(filter->rate_per_second));
  } else {
    check_error(filter.error());
  }
  if (const auto order = parse_switch(body)) {
    DAMPER_CHECK(!order->off || !order->reason.empty());
    DAMPER_CHECK(order->off || !order->length);
    DAMPER_CHECK(order->reason.size() <= admit::Reason::kLongest);
  } else {
    check_error(order.error());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_message(text);
  check_endpoint(text);
  check_others(text);
  if (const auto tokens = ApiTokens::parse(text)) {
    DAMPER_CHECK(tokens->size() > 0 && tokens->size() <= ApiTokens::kMostTokens);
  } else {
    DAMPER_CHECK(!tokens.error().empty() && tokens.error().size() < 300);
  }
  const RouteMatch match = find_route("GET", text);
  DAMPER_CHECK(match.route == nullptr || text.starts_with('/'));
  if (const auto time = parse_time(text)) DAMPER_CHECK(*parse_time(time_text(*time)) == *time);
  return 0;
}
