#ifndef DAMPER_ADMIT_TOKEN_BUCKET_H_
#define DAMPER_ADMIT_TOKEN_BUCKET_H_

#include <cstdint>
#include <optional>
#include <string>

#include "damper/base/instant.h"

namespace damper::admit {

struct TokenBucketOptions {
  double rate_per_second = 10;  // 0.001 to 100,000,000
  std::int32_t burst = 100;     // 1 to 1,000,000
};

[[nodiscard]] std::optional<std::string> find_error(const TokenBucketOptions& options);

}  // namespace damper::admit

#endif  // DAMPER_ADMIT_TOKEN_BUCKET_H_
