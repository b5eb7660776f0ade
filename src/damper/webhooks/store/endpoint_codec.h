#pragma once

#include <string>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/webhooks/model/endpoint.h"

namespace damper::webhooks {

// An EndpointConfig as a JSON text, the form in which stores keep it, secrets included: a store
// seals it. Times are milliseconds since 1970, durations nanoseconds.
//
// Invariants: (1) decode(encode(config)) is config, for every valid config. (2) decode() ignores
// fields that it does not know, so that an older version reads what a newer one has written.
[[nodiscard]] std::string encode(const EndpointConfig& config);
// A sentence if it is not such a text.
[[nodiscard]] Expected<EndpointConfig> decode(std::string_view text);

}  // namespace damper::webhooks
