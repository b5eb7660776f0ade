#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/base/bounds.h"
#include "damper/base/enum_names.h"
#include "damper/base/instant.h"
#include "damper/base/unix_time.h"
#include "damper/schedule/backoff.h"
#include "damper/webhooks/model/id.h"
#include "damper/webhooks/model/payload_filter.h"

namespace damper::webhooks {

// The limits of names and lists, wherever they come from.
inline constexpr std::size_t kMostNameBytes = 64;   // of an application
inline constexpr std::size_t kMostTypeBytes = 128;  // of an event type, a channel, an ordering key
inline constexpr std::size_t kMostUrlBytes = 2048;
inline constexpr std::size_t kMostKeyBytes = 256;      // of an idempotency key
inline constexpr std::size_t kMostListItems = 64;      // of types, channels, headers
inline constexpr std::size_t kMostHeaderBytes = 4096;  // of one additional header

// [a-z0-9] first, then also "-", "_" and "."; at most kMostNameBytes.
[[nodiscard]] bool is_application_name(std::string_view name) noexcept;
// Words of [A-Za-z0-9_-] with "." between them: "invoice.paid"; at most kMostTypeBytes.
[[nodiscard]] bool is_event_type(std::string_view type) noexcept;

// A secret of an endpoint: "whsec_..." or "whsk_...". After a rotation the old one signs as well,
// until it expires.
struct EndpointSecret {
  std::string key;
  std::optional<UnixTime> expires{};

  friend bool operator==(const EndpointSecret&, const EndpointSecret&) = default;
};

// The order of an endpoint's deliveries.
enum class Ordering : std::uint8_t {
  none,          // Each is sent when it is due.
  by_key_block,  // Those with the same ordering key one after the other: one that fails blocks the
                 // next ones of its key until it is delivered or dead.
  by_key_skip,   // In the same order; but one that fails is a dead letter at once, so that the
                 // next ones do not wait for its retries.
};
inline constexpr EnumNames<Ordering::by_key_skip> kOrderingNames = {"none", "by_key",
                                                                    "by_key_skip"};

// How the delays before the retries are made.
enum class RetrySchedule : std::uint8_t {
  listed,  // one after the other, from a list
  // base * 2^retry up to cap, with this jitter: schedule::Jitter
  full,
  equal,
  decorrelated,
};
inline constexpr EnumNames<RetrySchedule::decorrelated> kRetryScheduleNames = {
    "listed", "full", "equal", "decorrelated"};

// The options of an exponential schedule. REQUIRES: it is not `listed`.
[[nodiscard]] schedule::BackoffOptions backoff_of(RetrySchedule schedule, Duration base,
                                                  Duration cap) noexcept;
inline constexpr Duration kBackoffBase = std::chrono::seconds(5);
inline constexpr Duration kBackoffCap = std::chrono::hours(4);
inline constexpr std::int32_t kBackoffAttempts = 20;  // over a day

// An EndpointConfig is what the owner of an endpoint sets.
struct EndpointConfig {
  static constexpr Range<std::int32_t> kConcurrency{1, 1000};
  static constexpr Range<Duration> kTimeout{std::chrono::milliseconds(100),
                                            std::chrono::minutes(5)};
  static constexpr Range<double> kRate{0.001, 100'000};
  static constexpr std::size_t kMostRetries = 32;
  static constexpr Range<std::int32_t> kMaxAttempts{1, 1'000'000};
  static constexpr Range<Duration> kMaxAge{std::chrono::seconds(1), kLongest};

  std::string url;
  std::string description{};
  std::vector<std::string> types{};     // "invoice.paid", or "invoice.*"; empty: all
  std::vector<std::string> channels{};  // empty: all
  PayloadFilter filter{};               // empty: all
  std::vector<std::pair<std::string, std::string>> headers{};  // sent with each attempt
  std::vector<EndpointSecret> secrets{};                       // newest first; 1 to 10
  std::int32_t concurrency = 16;                               // attempts in flight
  std::optional<double> rate{};                                // attempts a second; none: unbounded
  std::optional<Duration> timeout{};               // of an attempt; none: the dispatcher's
  std::optional<std::vector<Duration>> retries{};  // mean delays; none: the dispatcher's
  // None: the dispatcher's; but with `retries` it is listed.
  std::optional<RetrySchedule> schedule{};
  std::optional<Duration> backoff_base{};      // of an exponential schedule; none: kBackoffBase
  std::optional<Duration> backoff_cap{};       // none: kBackoffCap
  std::optional<std::int32_t> max_attempts{};  // of an exponential schedule; none: kBackoffAttempts
  std::optional<Duration> max_age{};           // of a delivery; none: the dispatcher's
  bool client_errors_end = false;              // 4xx ends a delivery, but for 408, 425 and 429
  Ordering ordering = Ordering::none;
  bool disabled = false;
  std::string disabled_reason{};  // why, for people: "410 Gone", "by hand"

  friend bool operator==(const EndpointConfig&, const EndpointConfig&) = default;
};

// The first invalid field in one sentence; nothing when it is valid. The URL is only bounded here:
// http::parse_url reads it, and the egress guard decides about its address, at each connect.
[[nodiscard]] std::optional<std::string> find_error(const EndpointConfig& config);

// Whether an endpoint gets a message of this type and channel (empty: none). A disabled one gets
// none.
[[nodiscard]] bool matches(const EndpointConfig& config, std::string_view type,
                           std::string_view channel) noexcept;

// Whether a status is one that the client is to blame for, and that no time mends.
[[nodiscard]] constexpr bool is_client_error(int status) noexcept {
  return status >= 400 && status < 500 && status != 408 && status != 425 && status != 429;
}

struct Endpoint {
  Id id{};
  std::string application;
  UnixTime created{};
  EndpointConfig config;
  std::int64_t version = 0;  // of a store with several dispatchers: each change adds 1
};

}  // namespace damper::webhooks
