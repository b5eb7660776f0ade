#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/http/net/egress_guard.h"
#include "damper/webhooks/api/api_error.h"
#include "damper/webhooks/dispatch/deliveries.h"
#include "damper/webhooks/model/endpoint.h"
#include "damper/webhooks/store/store.h"

// The bodies of the API's requests (schema.h has their fields). Every parser takes any bytes, and
// returns the first error as a sentence that names the field.
namespace damper::webhooks {

inline constexpr std::size_t kMostBodyBytes = std::size_t{512} * 1024;  // of all but a message's

struct MessageBody {
  std::string type;
  std::string channel{};
  std::string ordering_key{};
  std::string idempotency_key{};
  std::string_view payload{};  // the bytes of the value, in the body
};
// A payload of more than `max_payload` bytes is refused with 413.
[[nodiscard]] Expected<MessageBody, ApiError> parse_message(std::string_view body,
                                                            std::size_t max_payload);
// A key of 1 to kMostKeyBytes visible characters; else a sentence.
[[nodiscard]] std::optional<ApiError> find_key_error(std::string_view key);

// The name of a new application.
[[nodiscard]] Expected<std::string, ApiError> parse_application(std::string_view body);

// Sets the fields of the body in `config`, which then is valid; of a new endpoint also its secret.
// `guard` may be nullptr.
[[nodiscard]] std::optional<ApiError> apply_new_endpoint(std::string_view body,
                                                         const http::EgressGuard* guard,
                                                         EndpointConfig& config);
[[nodiscard]] std::optional<ApiError> apply_endpoint_change(std::string_view body,
                                                            const http::EgressGuard* guard,
                                                            EndpointConfig& config);

struct RotationBody {
  Duration grace = std::chrono::hours(24);  // 0 to kLongest
  std::string secret;                       // given, or made
};
[[nodiscard]] Expected<RotationBody, ApiError> parse_rotation(std::string_view body);
// The new secret first. The old ones expire after the grace; those that have expired, and the
// oldest ones of more than ten, are removed.
void rotate(EndpointConfig& config, const RotationBody& rotation, UnixTime now);

[[nodiscard]] Expected<RedriveFilter, ApiError> parse_redrive(std::string_view body, Id endpoint);

struct RedrivesBody {
  std::optional<Id> endpoint{};
  RedriveFilter filter{};
};
[[nodiscard]] Expected<RedrivesBody, ApiError> parse_redrives(std::string_view body);

// An order to turn off has a reason; an order to turn on has no length.
[[nodiscard]] Expected<HoldOrder, ApiError> parse_switch(std::string_view body);

}  // namespace damper::webhooks
