#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "damper/base/enum_names.h"
#include "damper/base/unix_time.h"
#include "damper/decide/outcome.h"
#include "damper/http/codec/close_reason.h"
#include "damper/http/codec/head.h"

namespace damper::webhooks {

// The response field by which a receiver controls its deliveries: `disable` disables the endpoint,
// `abort-message` ends this delivery. A value is a token, compared without regard to case.
inline constexpr std::string_view kDeliveryControl = "webhook-delivery";

// Why an attempt ends its delivery, whatever its schedule has left: the reason of its dead letter.
enum class DeliveryEnd : std::uint8_t {
  none,
  gone,             // 410, or `disable`: the endpoint is disabled, too
  aborted,          // `abort-message`
  address_refused,  // by the egress guard
  permanent,        // 4xx of an endpoint with client_errors_end
};
inline constexpr EnumNames<DeliveryEnd::permanent> kDeliveryEndNames = {
    "none", "gone", "aborted", "address_refused", "permanent"};

// What an attempt says about its delivery and its endpoint.
struct DeliveryReport {
  decide::Report report;  // do_not_retry: `end` is not none
  DeliveryEnd end = DeliveryEnd::none;
  std::string error{};        // why there is no answer; empty: there is one
  bool proxy_failed = false;  // the egress proxy did not open a tunnel: see EndpointWorker
};

// Of an answer: its status (decide::classify_delivery), Retry-After, kDeliveryControl.
[[nodiscard]] DeliveryReport report_of_answer(int status, std::span<const http::Field> fields,
                                              UnixTime now);
// Of an attempt without an answer. An address that the egress guard refuses ends the delivery; that
// there was no connection to be had here (too_many, out_of_descriptors), or that the egress proxy
// failed, says nothing about the endpoint.
[[nodiscard]] DeliveryReport report_of_failure(http::CloseReason reason, bool answered);

}  // namespace damper::webhooks
