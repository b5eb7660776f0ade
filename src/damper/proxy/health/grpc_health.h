#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace damper::proxy {

// The messages of grpc.health.v1.Health/Check, as bodies of HTTP/2 messages: a prefix of 5 bytes
// and the protobuf message. Without a protobuf library: each message has one field.
inline constexpr std::string_view kGrpcHealthPath = "/grpc.health.v1.Health/Check";

// HealthCheckRequest.
[[nodiscard]] std::string grpc_health_request(std::string_view service);

// HealthCheckResponse.ServingStatus; other values are possible.
inline constexpr std::uint64_t kGrpcServing = 1;

// The status of a HealthCheckResponse: 0 if the message does not have it, nothing if the body is
// not one uncompressed, well-formed message. Unknown fields are skipped; of several statuses the
// last one counts, as protobuf requires.
[[nodiscard]] std::optional<std::uint64_t> find_grpc_health(std::string_view body) noexcept;

}  // namespace damper::proxy
