#pragma once

#include <cstddef>
#include <cstdint>

#include "damper/base/enum_names.h"

namespace damper::proxy {

enum class AccessFormat : std::uint8_t { json, combined };
inline constexpr EnumNames<AccessFormat::combined> kAccessFormatNames = {"json", "combined"};

// The fields of a JSON line, in their order.
enum class AccessField : std::uint8_t {
  time,
  method,
  path,
  authority,
  route,
  cluster,
  replica,
  status,
  grpc_status,
  verdict,
  attempts,
  duration_ms,
  upstream_ms,
  bytes_in,
  bytes_out,
  traceparent,
  closed,
  client,
  protocol,
  user_agent,
  request_id,
  trace_id,
  referer,
};
inline constexpr EnumNames<AccessField::referer> kAccessFieldNames = {
    "time",        "method",     "path",        "authority",   "route",    "cluster",
    "replica",     "status",     "grpc_status", "verdict",     "attempts", "duration_ms",
    "upstream_ms", "bytes_in",   "bytes_out",   "traceparent", "closed",   "client",
    "protocol",    "user_agent", "request_id",  "trace_id",    "referer"};

// How the access log writes a request.
struct AccessLayout {
  static constexpr std::uint32_t kAll =
      (std::uint32_t{1} << static_cast<unsigned>(kAccessFieldNames.size())) - 1;

  AccessFormat format = AccessFormat::json;
  std::uint32_t fields = kAll;  // a bit for each AccessField

  [[nodiscard]] constexpr bool has(AccessField field) const noexcept {
    return (fields >> static_cast<unsigned>(field) & 1U) != 0;
  }
};

}  // namespace damper::proxy
