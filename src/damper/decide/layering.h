#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace damper::decide {

// A Layer is the position of a request in the chain of callers: whether a layer above retries it,
// and the number of that layer's attempt.
//
// Why: three layers that each make three attempts make 27. One layer owns the retries of a request;
// those below it send once.
// Model: the headers of the incoming request, below. An owner's name, or any attempt number above
// 1, shows that a layer above retries. An attempt number of 1 shows nothing: Envoy counts attempts
// for routes without retries, too. A malformed header is treated as missing.
// Invariants:
//   (1) attempt is in [1, kMostAttempt].
//   (2) Hostile headers can at most switch off the retries of the request that carries them.
// Cost: reading allocates nothing.
struct Layer {
  bool owned_above = false;
  std::uint32_t attempt = 1;  // Of the layer above; 1 if unknown.

  static constexpr std::uint32_t kMostAttempt = 1000;
  friend constexpr bool operator==(const Layer&, const Layer&) = default;
};

inline constexpr std::string_view kRetryOwnerHeader = "damper-retry-owner";
inline constexpr std::string_view kAttemptHeader = "damper-attempt";
inline constexpr std::string_view kEnvoyAttemptHeader = "x-envoy-attempt-count";
inline constexpr std::string_view kGrpcPreviousAttemptsHeader = "grpc-previous-rpc-attempts";

// The values of those headers; empty where there is none.
struct LayerHeaders {
  std::string_view retry_owner = {};             // The owner of the retries: see valid_owner.
  std::string_view attempt = {};                 // Which attempt of the owner's this is, from 1.
  std::string_view envoy_attempt_count = {};     // The same, of an Envoy above.
  std::string_view grpc_previous_attempts = {};  // How many attempts there were before, from 0.
};

[[nodiscard]] Layer read_layer(const LayerHeaders& headers) noexcept;

// Whether this can be an owner's name: 1 to 64 of A-Z a-z 0-9 . _ -
[[nodiscard]] bool valid_owner(std::string_view name) noexcept;

// The value of damper-attempt for the outgoing request: our attempt number if we own the retries,
// the owner's if a layer above does (whose damper-retry-owner is forwarded unchanged).
[[nodiscard]] std::string format_attempt(const Layer& layer, std::uint32_t own_attempt);

}  // namespace damper::decide
