#ifndef DAMPER_ADMIT_CLIENT_THROTTLE_H_
#define DAMPER_ADMIT_CLIENT_THROTTLE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "damper/base/instant.h"
#include "damper/base/percent.h"

namespace damper::admit {

struct ClientThrottleOptions {
  Percent multiplier = Percent(200);            // K: 100 to 1000 %; the SRE book's 2
  Duration window = std::chrono::seconds(120);  // 1 s to 1 h
};

[[nodiscard]] std::optional<std::string> find_error(const ClientThrottleOptions& options);

}  // namespace damper::admit

#endif  // DAMPER_ADMIT_CLIENT_THROTTLE_H_
