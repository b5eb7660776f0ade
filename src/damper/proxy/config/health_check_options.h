#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/bounds.h"
#include "damper/base/enum_names.h"
#include "damper/base/expected.h"
#include "damper/base/instant.h"

namespace damper::proxy {

// What a probe sends: a GET, grpc.health.v1.Health/Check, or nothing after the connection.
enum class HealthCheckType : std::uint8_t { http, grpc, tcp };
inline constexpr EnumNames<HealthCheckType::tcp> kHealthCheckTypeNames = {"http", "grpc", "tcp"};

// How the replicas of a cluster are checked; the words are Envoy's. See health/replica_health.h.
struct HealthCheckOptions {
  static constexpr Range<Duration> kTimeout{std::chrono::milliseconds(1), std::chrono::minutes(1)};
  static constexpr Range<Duration> kInterval{std::chrono::milliseconds(10), std::chrono::hours(1)};
  static constexpr Range<Duration> kJitter{Duration{0}, std::chrono::hours(1)};
  static constexpr Range<std::int32_t> kThreshold{1, 100};

  HealthCheckType type = HealthCheckType::http;
  std::string path = "/healthz";                       // http
  std::string host{};                                  // http, grpc; empty: the endpoint's
  std::vector<std::string> expected_statuses{"200"};   // http: "200", "200-299"
  std::string service{};                               // grpc; empty: the server as a whole
  Duration timeout = std::chrono::seconds(1);          // connection, request and response together
  Duration interval = std::chrono::seconds(5);         // from the end of a probe to the next one
  Duration interval_jitter = std::chrono::seconds(1);  // up to this is added to each interval
  // The longest interval between probes of an unhealthy replica, to which it doubles; if
  // it is less than `interval`, that is used.
  Duration unhealthy_interval = std::chrono::seconds(30);
  std::int32_t unhealthy_threshold = 3;  // failed probes in a row
  std::int32_t healthy_threshold = 2;    // passed probes in a row; a new replica needs one

  friend bool operator==(const HealthCheckOptions&, const HealthCheckOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const HealthCheckOptions& options);

// "200" or "200-299": statuses from 200 to 599.
inline constexpr std::string_view kStatusForms = "a status such as 200, or a range such as 200-299";
[[nodiscard]] Expected<std::string> read_status_range(std::string_view text);
// Whether one of the ranges has the status. REQUIRES: read_status_range() made them.
[[nodiscard]] bool is_expected(const std::vector<std::string>& ranges, int status) noexcept;

// The name of a gRPC service, such as shop.Cart.
inline constexpr std::string_view kServiceForms = "the name of a gRPC service, such as shop.Cart";
[[nodiscard]] Expected<std::string> read_service(std::string_view text);

}  // namespace damper::proxy
