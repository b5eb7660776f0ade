#pragma once

#include "damper/base/random.h"
#include "damper/http/codec/connection.h"
#include "damper/http/net/loop.h"

namespace damper::drills {

// A BreakingSink breaks some of the streams that it hands on: half of them before anybody sees the
// request, half when the answer is about to be sent, so that the work was done and nobody is told.
class BreakingSink final : public http::RequestSink {
 public:
  BreakingSink(http::Loop& loop, http::RequestSink& inner, double percent, std::uint64_t seed)
      : loop_(loop), inner_(inner), percent_(percent), random_(seed) {}

  [[nodiscard]] http::StreamUser& on_request(http::Stream& stream) override;

 private:
  class Broken;
  http::Loop& loop_;
  http::RequestSink& inner_;
  const double percent_;
  Random random_;
};

}  // namespace damper::drills
