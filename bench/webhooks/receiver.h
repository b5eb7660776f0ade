#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "damper/http/codec/connection.h"
#include "damper/http/net/loop.h"

namespace damper::bench {

// The monotonic clock of this machine in nanoseconds: all processes read the same.
[[nodiscard]] std::int64_t monotonic_ns();

// A payload of `size` bytes (at least 64) that carries the time at which it was made.
[[nodiscard]] std::string stamped_payload(std::size_t size);

// A Receiver answers webhooks, as cheaply as the server allows: no request object, no allocation
// once warm.
//
// Paths: /hook answers 204 and records how old the payload's stamp is; /dead answers 503; /hole
// never answers; /slow answers 204 after kSlow; /report returns the number of requests and the
// quantiles of the ages of /hook as JSON, and forgets them.
class Receiver final : public http::RequestSink {
 public:
  static constexpr Duration kSlow = std::chrono::seconds(2);

  explicit Receiver(http::Loop& loop);
  ~Receiver();
  [[nodiscard]] http::StreamUser& on_request(http::Stream& stream) override;

 private:
  class Visit;  // one request
  enum class Path : std::uint8_t { hook, dead, hole, slow, report, other };

  [[nodiscard]] std::string report();

  http::Loop& loop_;
  std::vector<std::unique_ptr<Visit>> all_;
  std::vector<Visit*> spare_;
  std::array<std::int64_t, 6> requests_{};  // by Path
  std::vector<std::int64_t> ages_ns_;
};

}  // namespace damper::bench
