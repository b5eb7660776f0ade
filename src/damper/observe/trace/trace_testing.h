#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "damper/observe/trace/tracer.h"

namespace damper::observe {

// A span as a collector reads it; the parts that tests compare. The whole is decoded by
// OpenTelemetry's own definitions in tests/proxy/trace_test.py and tests/otlp/.
struct SeenSpan {
  std::string trace;  // the bytes of the ids
  std::string span;
  std::string parent;
  std::string state;
  std::string name;
  SpanKind kind{};
  SpanStatus status{};
  std::map<std::string, std::string, std::less<>> attributes;
  std::vector<std::string> links;  // their traces

  [[nodiscard]] std::string attribute(std::string_view key) const {
    const auto found = attributes.find(key);
    return found == attributes.end() ? "" : found->second;
  }
  // "00-TRACE-SPAN-FLAGS" begins like this.
  [[nodiscard]] std::string traceparent() const { return "00-" + hex(trace) + "-" + hex(span); }
  [[nodiscard]] static std::string hex(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const char byte : bytes) {
      const auto bits = static_cast<unsigned char>(byte);
      text += kDigits[bits >> 4U];
      text += kDigits[bits & 15U];
    }
    return text;
  }
};

// The fields of a protobuf message that append_span() has made: number, and bytes or number.
class SeenFields {
 public:
  explicit SeenFields(std::string_view message) : rest_(message) {}
  [[nodiscard]] bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t key = varint();
    field = static_cast<unsigned>(key >> 3U);
    switch (key & 7U) {
      case 0: number = varint(); break;
      case 1: bytes = take(8); break;
      case 2: bytes = take(varint()); break;
      default: bytes = take(4); break;
    }
    return true;
  }
  unsigned field = 0;
  std::uint64_t number = 0;
  std::string_view bytes;

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  std::string_view take(std::uint64_t size) {
    EXPECT_LE(size, rest_.size());
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest_;
};

inline SeenSpan seen_span(std::string_view bytes) {
  SeenSpan span;
  for (SeenFields fields(bytes); fields.next();) {
    switch (fields.field) {
      case 1: span.trace = fields.bytes; break;
      case 2: span.span = fields.bytes; break;
      case 3: span.state = fields.bytes; break;
      case 4: span.parent = fields.bytes; break;
      case 5: span.name = fields.bytes; break;
      case 6: span.kind = static_cast<SpanKind>(fields.number); break;
      case 9: {
        std::string key;
        std::string value;
        for (SeenFields pair(fields.bytes); pair.next();) {
          if (pair.field == 1) key = pair.bytes;
          if (pair.field != 2) continue;
          for (SeenFields any(pair.bytes); any.next();) {
            value = any.field == 1 ? std::string(any.bytes) : std::to_string(any.number);
          }
        }
        span.attributes[key] = value;
        break;
      }
      case 13:
        for (SeenFields link(fields.bytes); link.next();) {
          if (link.field == 1) span.links.emplace_back(link.bytes);
        }
        break;
      case 15:
        for (SeenFields status(fields.bytes); status.next();) {
          if (status.field == 3) span.status = static_cast<SpanStatus>(status.number);
        }
        break;
      default: break;
    }
  }
  return span;
}

// A tracer on a lane of its own, whose spans a test reads.
class TestTracer {
 public:
  explicit TestTracer(Percent sampling, std::int32_t failures_per_second = 100)
      : lane_(std::make_shared<SpanLane>(1000, reader_)),
        tracer_(lane_, {.sampling = sampling, .failures_per_second = failures_per_second}, 1) {}

  [[nodiscard]] Tracer& tracer() noexcept { return tracer_; }
  // Since the last take(), in the order in which they were added.
  [[nodiscard]] std::vector<SeenSpan> take() {
    std::string bytes;
    const std::size_t count = lane_->take(bytes);
    std::vector<SeenSpan> spans;
    for (SeenFields fields(bytes); fields.next();) spans.push_back(seen_span(fields.bytes));
    EXPECT_EQ(spans.size(), count);
    return spans;
  }

 private:
  class Silent final : public SpanLane::Reader {
    void on_lane_filling() noexcept override {}
  };
  Silent reader_;
  std::shared_ptr<SpanLane> lane_;
  Tracer tracer_;
};

}  // namespace damper::observe
