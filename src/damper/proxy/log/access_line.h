#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/base/unix_time.h"
#include "damper/base/verdict.h"
#include "damper/http/codec/close_reason.h"
#include "damper/http/codec/head.h"
#include "damper/observe/trace/span_context.h"
#include "damper/proxy/config/access_layout.h"

namespace damper::proxy {

// The facts of one request that has ended; the views are valid during the call.
struct AccessRecord {
  std::string_view method{}, authority{}, target{};
  std::string_view route{}, cluster{}, replica{};  // empty: none
  std::string_view traceparent{};
  std::string_view client{};    // address, by what trusted proxies say: see Trust::follow()
  std::string_view protocol{};  // of the client: "HTTP/1.1", "HTTP/2"
  std::string_view user_agent{}, request_id{};
  observe::TraceId trace{};               // of our own span; none: no tracing
  std::span<const http::Field> fields{};  // of the request
  int status = 0;                         // sent downstream; 0: none
  std::optional<int> grpc_status{};       // sent downstream, to a gRPC client
  Verdict verdict = Verdict::none;        // of the engine or of the admission: limited, shed, ...
  http::CloseReason ended = http::CloseReason::finished;  // downstream
  std::uint32_t attempts = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0;  // of the bodies
  Duration took{0};                           // from the first byte to the last
  Duration upstream_head{0};                  // from an attempt's start to the head of its response
};

// Appends the log's line for a request, with a newline.
//
// Model, AccessFormat::json, with the fields of the layout in this order:
//   {"time":"2026-11-15T18:01:04.123Z","method":"GET","path":"/x","authority":"shop.example",
//    "route":"shop","cluster":"shops","replica":"10.0.0.1:9000","status":503,
//    "verdict":"budget_spent","attempts":1,"duration_ms":12.345,"upstream_ms":11.000,
//    "bytes_in":0,"bytes_out":21,"traceparent":"00-...","closed":"finished","client":"10.1.2.3",
//    "protocol":"HTTP/2","user_agent":"curl/8.0","request_id":"4f0c...","trace_id":"0af7...",
//    "referer":"https://shop.example/"}
// Empty values are omitted. AccessFormat::combined is the format of Apache and nginx of that name:
//   10.1.2.3 - - [15/Nov/2026:18:01:04 +0000] "GET /x HTTP/1.1" 503 21 "-" "curl/8.0"
// Invariants:
//   (1) One record is one line: texts are escaped (\\u000a in JSON, \\x0a in the other, where a
//       quote is \\x22).
//   (2) A line has at most kLongestLine bytes, whatever the client sends: what a pipe takes as a
//       whole. Each text is cut where its escaped form exceeds its share: kLongestPath for the
//       path, kLongestName for names and for what clients send.
//   (3) `traceparent` is written if it is valid.
inline constexpr std::size_t kLongestLine = 4096;
inline constexpr std::size_t kLongestPath = 1024;
inline constexpr std::size_t kLongestName = 256;
void append_access_line(std::string& out, const AccessRecord& record, const AccessLayout& layout,
                        UnixTime now);

}  // namespace damper::proxy
