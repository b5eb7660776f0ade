#ifndef DAMPER_DECIDE_LAYERING_H_
#define DAMPER_DECIDE_LAYERING_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace damper::decide {

// A Layer is where a request stands in the chain of callers: whether somebody above retries it, and
// which attempt of theirs it is.
//
// Why: three layers that each make three attempts make 27. One layer owns the retries of a request;
// those below it send once.
// Model: the headers of the incoming request, below. An owner's name, or any attempt number above
// 1, shows that somebody above retries. An attempt number of 1 shows nothing: Envoy counts attempts
// for routes without retries too. What is missing or malformed is as if it were not there.
// Invariants:
//   (1) attempt is in [1, kMostAttempt].
//   (2) Hostile headers can at most switch off the retries of the request that carries them.
// Cost: reading allocates nothing and looks at no more than the values given.
struct Layer {
  bool owned_above = false;
  std::uint32_t attempt = 1;  // Of the layer above; 1 when it does not say.

  static constexpr std::uint32_t kMostAttempt = 1000;
  friend constexpr bool operator==(const Layer&, const Layer&) = default;
};

inline constexpr std::string_view kRetryOwnerHeader = "damper-retry-owner";
inline constexpr std::string_view kAttemptHeader = "damper-attempt";
inline constexpr std::string_view kEnvoyAttemptHeader = "x-envoy-attempt-count";
inline constexpr std::string_view kGrpcPreviousAttemptsHeader = "grpc-previous-rpc-attempts";

// The values of those headers; empty where there is none.
struct LayerHeaders {
  std::string_view retry_owner = {};             // Who retries: see valid_owner.
  std::string_view attempt = {};                 // Which attempt of the owner's this is, from 1.
  std::string_view envoy_attempt_count = {};     // The same, of an Envoy above.
  std::string_view grpc_previous_attempts = {};  // How many attempts there were before, from 0.
};

[[nodiscard]] Layer read_layer(const LayerHeaders& headers) noexcept;

// Whether this can be an owner's name: 1 to 64 of A-Z a-z 0-9 . _ -
[[nodiscard]] bool valid_owner(std::string_view name) noexcept;

// The value of damper-attempt for the request that we send on: our attempt number where we own the
// retries, the owner's where somebody above does (whose damper-retry-owner is passed on unchanged).
[[nodiscard]] std::string format_attempt(const Layer& layer, std::uint32_t own_attempt);

}  // namespace damper::decide

#endif  // DAMPER_DECIDE_LAYERING_H_
