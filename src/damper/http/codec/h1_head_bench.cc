#include "damper/http/codec/h1_head.h"

#include <benchmark/benchmark.h>

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstring>
#include <string>
#include <string_view>

#include "damper/http/codec/h1_writer.h"

namespace damper::http {
namespace {

// What a service's client sends: eight fields in 330 bytes.
constexpr std::string_view kRequest =
    "POST /v1/orders/7f3c2a91?expand=items HTTP/1.1\r\n"
    "Host: orders.internal:8080\r\n"
    "User-Agent: checkout/2.31 (linux; x86_64)\r\n"
    "Accept: application/json\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 512\r\n"
    "Idempotency-Key: 0191f2a4-7d33-7c1e-b0f5-2a6d9c3e8b11\r\n"
    "X-Request-Deadline-Ms: 1500\r\n"
    "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n"
    "\r\n";

// The floor: what it costs to find the ends of the lines.
void BM_HttpHeadFloor(benchmark::State& state) {
  for (auto _ : state) {
    int lines = 0;
    std::string_view rest = kRequest;
    while (const void* found = std::memchr(rest.data(), '\n', rest.size())) {
      rest.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(found) - rest.data()) +
                         1);
      ++lines;
    }
    benchmark::DoNotOptimize(lines);
  }
}
BENCHMARK(BM_HttpHeadFloor);

void BM_HttpHeadScan(benchmark::State& state) {
  for (auto _ : state) {
    H1Head head;
    if (head.scan_request(kRequest, {}) != H1Head::Result::complete) state.SkipWithError("refused");
    benchmark::DoNotOptimize(head.head().fields.data());
  }
}
BENCHMARK(BM_HttpHeadScan);

void BM_HttpHeadBeast(benchmark::State& state) {
  for (auto _ : state) {
    boost::beast::http::request_parser<boost::beast::http::empty_body> parser;
    boost::system::error_code error;
    parser.put(boost::asio::buffer(kRequest.data(), kRequest.size()), error);
    if (!parser.is_header_done()) state.SkipWithError("refused");
    benchmark::DoNotOptimize(parser.get());
  }
}
BENCHMARK(BM_HttpHeadBeast);

// The head as a proxy's next hop is written.
void BM_HttpHeadWrite(benchmark::State& state) {
  H1Head head;
  if (head.scan_request(kRequest, {}) != H1Head::Result::complete) state.SkipWithError("refused");
  std::string out;
  for (auto _ : state) {
    out.clear();
    append_request(out, head.head(), {.framing = H1Framing::length, .content_length = 512});
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(BM_HttpHeadWrite);

}  // namespace
}  // namespace damper::http
