// Input: the body of a response of grpc.health.v1.Health/Check, from a hostile replica.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "damper/base/check.h"
#include "damper/proxy/health/grpc_health.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto status = damper::proxy::find_grpc_health(body);
  DAMPER_CHECK(!status || size >= 5);  // At least the prefix.
  DAMPER_CHECK(!status || *status == 0 || size >= 7);
  return 0;
}
