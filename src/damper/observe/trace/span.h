#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "damper/observe/trace/span_context.h"

namespace damper::observe {

// Numbered as in OTLP.
enum class SpanKind : std::uint8_t { unspecified, internal, server, client, producer, consumer };
enum class SpanStatus : std::uint8_t { unset, ok, error };

// A name and its value. The texts are valid as long as those it was made of.
struct SpanAttribute {
  enum class Kind : std::uint8_t { text, number, boolean };

  std::string_view name{};
  Kind kind = Kind::text;
  std::string_view text{};
  std::int64_t number = 0;
};

struct SpanEvent {
  std::string_view name{};
  std::int64_t at_ns = 0;  // since 1970
};

// A Span is one operation of a trace, as it is exported: a plain value that refers to texts of its
// owner, made when the operation has ended.
//
// Why: an operation that is not exported, which most are, costs nothing but the few facts that its
// owner keeps.
// Invariants:
//   (1) At most kMostAttributes, kMostEvents and kMostLinks; further ones are counted as dropped,
//       which OTLP has fields for.
// Thread safety: none. Cost: no allocation.
class Span {
 public:
  static constexpr std::size_t kMostAttributes = 20;
  static constexpr std::size_t kMostEvents = 4;
  static constexpr std::size_t kMostLinks = 2;

  SpanContext context{};
  std::uint64_t parent = 0;    // 0: none
  bool remote_parent = false;  // the parent is of another process
  std::string_view tracestate{};
  std::string_view name{};
  SpanKind kind = SpanKind::internal;
  std::int64_t start_ns = 0;  // since 1970
  std::int64_t end_ns = 0;
  SpanStatus status = SpanStatus::unset;
  std::string_view status_message{};

  // An empty text is left out.
  void add(std::string_view key, std::string_view text) noexcept {
    if (!text.empty()) add(SpanAttribute{.name = key, .text = text});
  }
  void add_number(std::string_view key, std::int64_t number) noexcept {
    add(SpanAttribute{.name = key, .kind = SpanAttribute::Kind::number, .number = number});
  }
  void add_flag(std::string_view key, bool flag) noexcept {
    add(SpanAttribute{.name = key, .kind = SpanAttribute::Kind::boolean, .number = flag ? 1 : 0});
  }
  void add_event(const SpanEvent& event) noexcept {
    if (event_count_ == kMostEvents) {
      ++dropped_events_;
    } else {
      events_[event_count_++] = event;
    }
  }
  void add_link(const SpanContext& link) noexcept {
    if (link_count_ == kMostLinks) {
      ++dropped_links_;
    } else {
      links_[link_count_++] = link;
    }
  }

  [[nodiscard]] std::span<const SpanAttribute> attributes() const noexcept {
    return {attributes_.data(), attribute_count_};
  }
  [[nodiscard]] std::span<const SpanEvent> events() const noexcept {
    return {events_.data(), event_count_};
  }
  [[nodiscard]] std::span<const SpanContext> links() const noexcept {
    return {links_.data(), link_count_};
  }
  [[nodiscard]] std::uint32_t dropped_attributes() const noexcept { return dropped_attributes_; }
  [[nodiscard]] std::uint32_t dropped_events() const noexcept { return dropped_events_; }
  [[nodiscard]] std::uint32_t dropped_links() const noexcept { return dropped_links_; }

 private:
  void add(const SpanAttribute& attribute) noexcept {
    if (attribute_count_ == kMostAttributes) {
      ++dropped_attributes_;
    } else {
      attributes_[attribute_count_++] = attribute;
    }
  }

  std::array<SpanAttribute, kMostAttributes> attributes_{};
  std::array<SpanEvent, kMostEvents> events_{};
  std::array<SpanContext, kMostLinks> links_{};
  std::size_t attribute_count_ = 0;
  std::size_t event_count_ = 0;
  std::size_t link_count_ = 0;
  std::uint32_t dropped_attributes_ = 0;
  std::uint32_t dropped_events_ = 0;
  std::uint32_t dropped_links_ = 0;
};

}  // namespace damper::observe
