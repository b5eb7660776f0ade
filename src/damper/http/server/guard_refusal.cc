#include "damper/http/server/guard_refusal.h"

#include <algorithm>
#include <string>

namespace damper::http {

std::chrono::seconds retry_after_seconds(Duration wait, double draw) noexcept {
  using std::chrono::seconds;
  const Duration later{static_cast<Duration::rep>(draw * 1e9)};
  const Duration at_least = std::clamp(wait, Duration{0}, kLongest);
  return std::max(seconds(1), std::chrono::ceil<seconds>(at_least + later));
}

Response refusal(Verdict verdict, Duration retry_after, int overload, double draw) {
  Response response;
  response.status = refusal_status(verdict, overload);
  response.fields.add(kVerdictHeader, name(verdict));
  if (response.status == overload) {
    const auto seconds = retry_after_seconds(retry_after, draw).count();
    response.fields.add("retry-after", std::to_string(seconds));
  }
  return response;
}

}  // namespace damper::http
