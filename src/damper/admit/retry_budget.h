#ifndef DAMPER_ADMIT_RETRY_BUDGET_H_
#define DAMPER_ADMIT_RETRY_BUDGET_H_

#include <cstdint>
#include <optional>
#include <string>

#include "damper/base/instant.h"
#include "damper/base/percent.h"

namespace damper::admit {

enum class DepositOn : std::uint8_t { request, success };

struct RetryBudgetOptions {
  Percent percent = Percent(10);               // 0 to 1000 %
  Duration window = std::chrono::seconds(10);  // 1 s to 1 h
  std::int32_t reserve = 3;                    // 0 to 1000 retries
  std::int32_t min_per_second = 0;             // 0 to 10,000; see the guide for what it costs
  DepositOn deposit_on = DepositOn::request;
  // Envoy's bound beside it: retries in flight <= max(min_retry_concurrency, percent * requests in
  // flight). Off when negative.
  std::int32_t min_retry_concurrency = -1;  // -1 (off) to 1,000,000
};

[[nodiscard]] std::optional<std::string> find_error(const RetryBudgetOptions& options);

}  // namespace damper::admit

#endif  // DAMPER_ADMIT_RETRY_BUDGET_H_
