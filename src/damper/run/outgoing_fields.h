#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/decide/layering.h"
#include "damper/schedule/deadline_header.h"

namespace damper::run {

// How important a request is: a name of admit::Criticality.
inline constexpr std::string_view kCriticalityHeader = "damper-criticality";

// The fields of an incoming request that OutgoingFields replaces. A driver removes them from what
// it forwards.
inline constexpr std::array<std::string_view, 3> kReplacedFields = {
    schedule::kRequestDeadlineHeader, decide::kRetryOwnerHeader, decide::kAttemptHeader};

// What one attempt sends to the server below.
struct OutgoingContext {
  Duration remaining = kForever;    // until the attempt's deadline; kForever: no deadline
  bool grpc_timeout = false;        // sends `remaining` as grpc-timeout too
  bool envoy_timeout = false;       // sends it as x-envoy-expected-rq-timeout-ms too
  std::uint32_t grpc_previous = 0;  // earlier attempts, as grpc-previous-rpc-attempts; 0: none
  std::string_view owner{};         // the layer that retries; empty: none
  std::uint32_t owner_attempt = 0;  // the attempt of an owner above; 0: `attempt` is sent
  std::uint32_t attempt = 0;        // from 1; 0: damper-attempt is not sent
  std::string_view criticality{};   // a name of admit::Criticality; empty: not sent
};

// OutgoingFields writes the header fields by which an attempt passes its deadline, the owner of the
// retries, the attempt's number and the criticality to the server below. HTTP client, proxy, curl
// and gRPC use it: a new field is added here.
//
// Invariants:
//   (1) No field claims more time than `remaining`; x-envoy-expected-rq-timeout-ms is at least 1,
//       since 0 means no timeout there.
// Thread safety: none. Cost: no allocation for values of up to 15 characters.
class OutgoingFields {
 public:
  static constexpr std::size_t kMost = 7;

  struct Field {
    std::string_view name;
    std::string_view value;
  };

  // The result and the context's texts are valid until the next write().
  [[nodiscard]] std::span<const Field> write(const OutgoingContext& context);

 private:
  void add(std::string_view name, std::string_view value) { fields_[size_++] = {name, value}; }

  std::array<Field, kMost> fields_{};
  std::size_t size_ = 0;
  std::string deadline_;
  std::string grpc_timeout_;
  std::string previous_;
  std::string attempt_;
};

}  // namespace damper::run
