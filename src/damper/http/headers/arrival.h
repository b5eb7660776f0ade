#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/base/unix_time.h"
#include "damper/http/codec/head.h"
#include "damper/run/scope.h"

namespace damper::http {

struct ArrivalOptions {
  // Of a request that brings no deadline, and of any request at the most; 1 ms to 30 days.
  Duration default_deadline = std::chrono::seconds(10);
  Duration longest_deadline = std::chrono::seconds(60);
  // The most critical that a caller may call itself: others decide over what is shed first.
  admit::Criticality most_critical = admit::Criticality::critical_plus;
  admit::Criticality default_criticality = admit::Criticality::critical;
  // Of a caller that is not trusted only grpc-timeout is read, and a criticality up to the default.
  bool trusted = true;
};

[[nodiscard]] std::optional<std::string> find_error(const ArrivalOptions& options);

// When a request came, on both clocks.
struct ArrivalTime {
  Instant arrived;  // its first byte
  UnixTime wall;    // the same moment: for a deadline that is a date
};

// The context that a request carries in its headers: its deadline, the owner of its retries, its
// criticality.
//
// Model: the deadline counts from the first byte (trap D1) and is the earliest of
// x-request-deadline, grpc-timeout and x-envoy-expected-rq-timeout-ms, at most longest_deadline;
// default_deadline when there is none. What is malformed is as if it were not there. A hostile
// caller can shorten its own deadline, switch off retries of its own request, and claim a
// criticality up to most_critical. One that is not trusted can only shorten its own deadline, by
// grpc-timeout, which is a part of gRPC, and call itself less critical than the default.
// Cost: one pass over the fields.
[[nodiscard]] run::RequestContext read_arrival(std::span<const Field> fields,
                                               const ArrivalTime& time,
                                               const ArrivalOptions& options);

}  // namespace damper::http
