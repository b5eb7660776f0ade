#pragma once

#include <cstdint>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/base/verdict.h"
#include "damper/http/codec/close_reason.h"

namespace damper::proxy {

// The facts of one request that has ended; the views are valid during the call.
struct AccessRecord {
  std::string_view method{}, authority{}, target{};
  std::string_view route{}, cluster{}, replica{};  // empty: none
  std::string_view traceparent{};
  int status = 0;                   // sent downstream; 0: none
  Verdict verdict = Verdict::none;  // of the engine or of the admission: limited, shed, ...
  http::CloseReason ended = http::CloseReason::finished;  // downstream
  std::uint32_t attempts = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0;  // of the bodies
  Duration took{0};                           // from the first byte to the last
  Duration upstream_head{0};                  // from an attempt's start to the head of its response
};

// An AccessSink gets the record of every request: the access log, the metrics. Called on the loop's
// thread.
class AccessSink {
 public:
  virtual void on_request_over(const AccessRecord& record) noexcept = 0;

 protected:
  ~AccessSink() = default;
};

}  // namespace damper::proxy
