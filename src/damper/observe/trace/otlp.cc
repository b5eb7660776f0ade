#include "damper/observe/trace/otlp.h"

#include <algorithm>
#include <array>

namespace damper::observe {
namespace {

// Wire types of protobuf.
constexpr unsigned kVarint = 0;
constexpr unsigned kFixed64 = 1;
constexpr unsigned kBytes = 2;
constexpr unsigned kFixed32 = 5;

constexpr std::uint32_t kHasIsRemote = 0x100;  // of a span's flags
constexpr std::uint32_t kIsRemote = 0x200;
constexpr std::string_view kScopeName = "damper";

constexpr unsigned tag(unsigned field, unsigned type) { return field << 3U | type; }

// The bytes of a varint.
struct Varint {
  std::array<char, 10> bytes{};
  std::size_t size = 0;

  explicit Varint(std::uint64_t number) noexcept {
    while (number >= 0x80) {
      bytes[size++] = static_cast<char>(number | 0x80);
      number >>= 7U;
    }
    bytes[size++] = static_cast<char>(number);
  }
};

void add_varint(std::string& out, std::uint64_t number) {
  if (number < 0x80) {
    out += static_cast<char>(number);
    return;
  }
  const Varint varint(number);
  out.append(varint.bytes.data(), varint.size);
}

void add_number(std::string& out, unsigned field, std::uint64_t number) {
  if (number == 0) return;
  add_varint(out, tag(field, kVarint));
  add_varint(out, number);
}

template <class Number>
void add_fixed(std::string& out, unsigned field, Number number) {
  add_varint(out, tag(field, sizeof(Number) == 8 ? kFixed64 : kFixed32));
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    out += static_cast<char>(number >> 8 * i & 0xff);
  }
}

// An id, with its most significant byte first.
void append_id(std::string& out, std::uint64_t id) {
  for (unsigned shift = 64; shift > 0;) {
    shift -= 8;
    out += static_cast<char>(id >> shift & 0xff);
  }
}
void add_trace_id(std::string& out, unsigned field, const TraceId& id) {
  add_varint(out, tag(field, kBytes));
  out += static_cast<char>(16);
  append_id(out, id.high);
  append_id(out, id.low);
}
void add_span_id(std::string& out, unsigned field, std::uint64_t id) {
  if (id == 0) return;
  add_varint(out, tag(field, kBytes));
  out += static_cast<char>(8);
  append_id(out, id);
}

void add_text(std::string& out, unsigned field, std::string_view text,
              std::size_t most = kLongestSpanText) {
  text = text.substr(0, most);
  add_varint(out, tag(field, kBytes));
  add_varint(out, text.size());
  const std::size_t begin = out.size();
  out += text;
  for (std::size_t i = begin; i < out.size(); ++i) {
    if (out[i] < ' ' || out[i] > '~') out[i] = '?';
  }
}

// What add_text() adds for a field below 16.
std::size_t length_of_text(std::string_view text) noexcept {
  return 1 + Varint(text.size()).size + text.size();
}

// A message inside of another; its length is put before it.
template <class Write>
void add_message(std::string& out, unsigned field, Write write) {
  add_varint(out, tag(field, kBytes));
  const std::size_t begin = out.size();
  write();
  const Varint size(out.size() - begin);
  out.insert(begin, size.bytes.data(), size.size);
}

// With the lengths computed before, since add_message() moves what it has written.
void add_attribute(std::string& out, unsigned field, const SpanAttribute& attribute) {
  const bool is_text = attribute.kind == SpanAttribute::Kind::text;
  const std::string_view name = attribute.name.substr(0, kLongestSpanText);
  const std::string_view text = attribute.text.substr(0, kLongestSpanText);
  const auto number = static_cast<std::uint64_t>(attribute.number);
  const std::size_t value = is_text ? length_of_text(text) : 1 + Varint(number).size;
  add_varint(out, tag(field, kBytes));
  add_varint(out, length_of_text(name) + 1 + Varint(value).size + value);
  add_text(out, 1, name);
  add_varint(out, tag(2, kBytes));
  add_varint(out, value);
  if (is_text) return add_text(out, 1, text);
  const bool flag = attribute.kind == SpanAttribute::Kind::boolean;
  add_varint(out, tag(flag ? 2 : 3, kVarint));  // Also if it is 0: it is one of several kinds.
  add_varint(out, number);
}

std::uint64_t nanoseconds(std::int64_t since_1970) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(since_1970, 0));
}

// The bytes of a message, field by field.
class Reader {
 public:
  explicit Reader(std::string_view bytes) noexcept : rest_(bytes) {}

  // The next field; false: there is none, or it is malformed.
  [[nodiscard]] bool next() noexcept {
    std::uint64_t key = 0;
    if (rest_.empty() || !read_varint(key)) return false;
    field_ = key >> 3U;
    type_ = static_cast<unsigned>(key & 7U);
    if (field_ == 0) return fail();
    switch (type_) {
      case kVarint: return read_varint(number_);
      case kFixed64: return skip(8);
      case kFixed32: return skip(4);
      case kBytes: return read_varint(number_) && take(number_);
      default: return fail();
    }
  }
  [[nodiscard]] bool is_malformed() const noexcept { return malformed_; }
  [[nodiscard]] bool is(std::uint64_t field, unsigned type) const noexcept {
    return field_ == field && type_ == type;
  }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }

 private:
  bool fail() noexcept {
    malformed_ = true;
    return false;
  }
  bool read_varint(std::uint64_t& into) noexcept {
    into = 0;
    for (unsigned shift = 0; shift < 70 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) return fail();
      into |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80) return true;
    }
    return fail();
  }
  bool skip(std::uint64_t count) noexcept { return take(count); }
  bool take(std::uint64_t count) noexcept {
    if (count > rest_.size()) return fail();
    bytes_ = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return true;
  }

  std::string_view rest_;
  std::string_view bytes_;
  std::uint64_t field_ = 0;
  std::uint64_t number_ = 0;
  unsigned type_ = 0;
  bool malformed_ = false;
};

constexpr unsigned kSpansField = 2;  // of ScopeSpans

}  // namespace

void append_span(std::string& out, const Span& span) {
  add_message(out, kSpansField, [&] {
    add_trace_id(out, 1, span.context.trace);
    add_span_id(out, 2, span.context.span);
    if (!span.tracestate.empty()) add_text(out, 3, span.tracestate, kMostTracestate);
    add_span_id(out, 4, span.parent);
    add_text(out, 5, span.name);
    add_number(out, 6, static_cast<std::uint64_t>(span.kind));
    add_fixed(out, 7, nanoseconds(span.start_ns));
    add_fixed(out, 8, nanoseconds(std::max(span.start_ns, span.end_ns)));
    for (const SpanAttribute& attribute : span.attributes()) add_attribute(out, 9, attribute);
    add_number(out, 10, span.dropped_attributes());
    for (const SpanEvent& event : span.events()) {
      add_message(out, 11, [&] {
        add_fixed(out, 1, nanoseconds(event.at_ns));
        add_text(out, 2, event.name);
      });
    }
    add_number(out, 12, span.dropped_events());
    for (const SpanContext& link : span.links()) {
      add_message(out, 13, [&] {
        add_trace_id(out, 1, link.trace);
        add_span_id(out, 2, link.span);
        add_fixed(out, 6, std::uint32_t{link.flags} | kHasIsRemote | kIsRemote);
      });
    }
    add_number(out, 14, span.dropped_links());
    if (span.status != SpanStatus::unset) {
      add_message(out, 15, [&] {
        if (!span.status_message.empty()) add_text(out, 2, span.status_message);
        add_number(out, 3, static_cast<std::uint64_t>(span.status));
      });
    }
    add_fixed(
        out, 16,
        std::uint32_t{span.context.flags} | kHasIsRemote | (span.remote_parent ? kIsRemote : 0));
  });
}

SpanPrefix prefix_of(std::string_view spans, std::size_t most) noexcept {
  Reader reader(spans);
  SpanPrefix prefix;
  while (prefix.spans < most && reader.next()) {
    ++prefix.spans;
    prefix.bytes = spans.size() - reader.left();
  }
  return prefix;
}

std::string make_export_request(std::string_view service_name, std::string_view service_instance,
                                std::string_view spans) {
  std::string out;
  out.reserve(spans.size() + 1024);
  add_message(out, 1, [&] {    // resource_spans
    add_message(out, 1, [&] {  // resource
      add_attribute(out, 1, {.name = "service.name", .text = service_name});
      if (!service_instance.empty()) {
        add_attribute(out, 1, {.name = "service.instance.id", .text = service_instance});
      }
      add_attribute(out, 1, {.name = "telemetry.sdk.name", .text = kScopeName});
      add_attribute(out, 1, {.name = "telemetry.sdk.language", .text = "cpp"});
    });
    add_message(out, 2, [&] {  // scope_spans
      add_message(out, 1, [&] { add_text(out, 1, kScopeName); });
      out += spans;
    });
  });
  return out;
}

std::optional<std::uint64_t> read_rejected_spans(std::string_view response) noexcept {
  std::uint64_t rejected = 0;
  Reader outer(response);
  while (outer.next()) {
    if (!outer.is(1, kBytes)) continue;
    Reader partial(outer.bytes());
    while (partial.next()) {
      if (partial.is(1, kVarint)) rejected = partial.number();
    }
    if (partial.is_malformed()) return std::nullopt;
  }
  if (outer.is_malformed()) return std::nullopt;
  return rejected >> 63U == 0 ? rejected : 0;  // A negative number is none.
}

}  // namespace damper::observe
