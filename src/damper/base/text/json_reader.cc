#include "damper/base/text/json_reader.h"

#include <algorithm>
#include <charconv>

#include "damper/base/text/utf8.h"
#include "damper/base/text/words.h"

namespace damper::text {
namespace {

constexpr std::size_t kMostFields = 1000;  // of one object: find() is linear.

class Reader {
 public:
  Reader(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  Expected<JsonValue> read() {
    if (text_.size() > limits_.bytes) {
      return unexpected("it has more than " + std::to_string(limits_.bytes) + " bytes");
    }
    JsonValue value;
    if (!read_value(value, 0)) return unexpected(why_ + " at byte " + std::to_string(at_ + 1));
    skip_space();
    if (at_ < text_.size()) {
      return unexpected("unexpected text after the value at byte " + std::to_string(at_ + 1));
    }
    return value;
  }

 private:
  bool fail(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return false;
  }
  void skip_space() noexcept {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }
  [[nodiscard]] char next() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[nodiscard]] bool take(char c) noexcept {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return fail("not a JSON value");
    at_ += word.size();
    return true;
  }

  bool read_value(JsonValue& out, std::size_t depth) {
    if (++values_ > limits_.values) {
      return fail("it has more than " + std::to_string(limits_.values) + " values");
    }
    if (depth > limits_.depth) {
      return fail("it is nested deeper than " + std::to_string(limits_.depth));
    }
    skip_space();
    out.begin = at_;
    const bool read = read_kind(out, depth);
    out.end = at_;
    return read;
  }

  bool read_kind(JsonValue& out, std::size_t depth) {
    switch (next()) {
      case '{': return read_object(out, depth);
      case '[': return read_array(out, depth);
      case '"': out.kind = JsonValue::Kind::string; return read_string(out.text);
      case 't': out.boolean = true; [[fallthrough]];
      case 'f':
        out.kind = JsonValue::Kind::boolean;
        return take_word(out.boolean ? "true" : "false");
      case 'n': return take_word("null");
      default: return read_number(out);
    }
  }

  bool read_object(JsonValue& out, std::size_t depth) {
    out.kind = JsonValue::Kind::object;
    ++at_;
    skip_space();
    if (take('}')) return true;
    do {
      skip_space();
      std::string name;
      if (next() != '"') return fail("expected a field name");
      if (!read_string(name)) return false;
      if (out.fields.size() == kMostFields) return fail("an object with more than 1000 fields");
      if (out.find(name) != nullptr) return fail("a duplicate field name");
      skip_space();
      if (!take(':')) return fail("expected a colon");
      const bool raw = depth == 0 && !limits_.raw_field.empty() && name == limits_.raw_field;
      out.fields.emplace_back(std::move(name), JsonValue{});
      JsonValue& value = out.fields.back().second;
      if (raw ? !skip_raw(value) : !read_value(value, depth + 1)) return false;
      skip_space();
    } while (take(','));
    return take('}') || fail("expected a comma or a closing brace");
  }

  bool read_array(JsonValue& out, std::size_t depth) {
    out.kind = JsonValue::Kind::array;
    ++at_;
    skip_space();
    if (take(']')) return true;
    do {
      out.items.emplace_back();
      if (!read_value(out.items.back(), depth + 1)) return false;
      skip_space();
    } while (take(','));
    return take(']') || fail("expected a comma or a closing bracket");
  }

  // The value of the raw field: its kind and its range.
  bool skip_raw(JsonValue& out) {
    skip_space();
    out.begin = at_;
    switch (next()) {
      case '{': out.kind = JsonValue::Kind::object; break;
      case '[': out.kind = JsonValue::Kind::array; break;
      case '"': out.kind = JsonValue::Kind::string; break;
      case 't':
      case 'f': out.kind = JsonValue::Kind::boolean; break;
      case 'n': break;
      default: out.kind = JsonValue::Kind::number;
    }
    const bool read = skip_value(1);
    out.end = at_;
    return read;
  }

  bool skip_value(std::size_t depth) {
    if (depth > limits_.depth) {
      return fail("it is nested deeper than " + std::to_string(limits_.depth));
    }
    skip_space();
    const char first = next();
    if (first == '{' || first == '[') return skip_nested(depth);
    skipped_.text.clear();
    if (first == '"') return read_string(skipped_.text);
    skipped_.boolean = false;
    return read_kind(skipped_, depth);  // neither an object nor an array
  }

  bool skip_nested(std::size_t depth) {
    const bool object = next() == '{';
    const char closing = object ? '}' : ']';
    ++at_;
    skip_space();
    if (take(closing)) return true;
    do {
      skip_space();
      if (object) {
        if (next() != '"') return fail("expected a field name");
        skipped_.text.clear();
        if (!read_string(skipped_.text)) return false;
        skip_space();
        if (!take(':')) return fail("expected a colon");
      }
      if (!skip_value(depth + 1)) return false;
      skip_space();
    } while (take(','));
    return take(closing) || fail(object ? "expected a comma or a closing brace"
                                        : "expected a comma or a closing bracket");
  }

  bool read_digits() noexcept {
    const std::size_t from = at_;
    while (next() >= '0' && next() <= '9') ++at_;
    return at_ > from;
  }

  bool read_number(JsonValue& out) {
    const std::size_t from = at_;
    out.kind = JsonValue::Kind::number;
    (void)take('-');
    if (!take('0') && !read_digits()) return fail("not a JSON value");
    if (take('.') && !read_digits()) return fail("expected a digit");
    if (take('e') || take('E')) {
      if (!take('+')) (void)take('-');
      if (!read_digits()) return fail("expected a digit");
    }
    out.text = text_.substr(from, at_ - from);
    return true;
  }

  bool read_hex(std::uint32_t& out) {
    const std::string_view digits = text_.substr(at_, 4);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), out, 16);
    if (digits.size() < 4 || error != std::errc{} || end != digits.data() + 4) {
      return fail("expected four hexadecimal digits");
    }
    at_ += 4;
    return true;
  }

  static void append_utf8(std::string& out, std::uint32_t c) {
    const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (c < 0x80) return put(c);
    if (c < 0x800) {
      put(0xc0 | c >> 6);
    } else if (c < 0x10000) {
      put(0xe0 | c >> 12);
      put(0x80 | (c >> 6 & 0x3f));
    } else {
      put(0xf0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3f));
      put(0x80 | (c >> 6 & 0x3f));
    }
    put(0x80 | (c & 0x3f));
  }

  bool read_escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    if (const auto i = kLetters.find(next()); at_ < text_.size() && i != kLetters.npos) {
      ++at_;
      out += kMeant[i];
      return true;
    }
    if (!take('u')) return fail("an unknown escape");
    std::uint32_t c = 0;
    if (!read_hex(c)) return false;
    if (c >= 0xdc00 && c < 0xe000) return fail("an unpaired surrogate");
    if (c >= 0xd800 && c < 0xdc00) {  // A high surrogate.
      std::uint32_t low = 0;
      if (!take('\\') || !take('u')) return fail("an unpaired surrogate");
      if (!read_hex(low)) return false;
      if (low < 0xdc00 || low >= 0xe000) return fail("an unpaired surrogate");
      c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(out, c);
    return true;
  }

  bool read_string(std::string& out) {
    ++at_;
    for (;;) {
      const std::size_t from = at_;
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
             static_cast<unsigned char>(text_[at_]) >= 0x20) {
        ++at_;
      }
      out += text_.substr(from, at_ - from);
      if (take('"')) break;
      if (!take('\\'))
        return fail(at_ < text_.size() ? "a control character in a string"
                                       : "an unterminated string");
      if (!read_escape(out)) return false;
    }
    for (std::size_t i = 0; i < out.size();) {
      const std::size_t length = utf8_length(std::string_view(out).substr(i));
      if (length == 0) return fail("invalid UTF-8 in a string");
      i += length;
    }
    return true;
  }

  const std::string_view text_;
  const JsonLimits limits_;
  std::size_t at_ = 0;
  std::size_t values_ = 0;
  std::string why_;
  JsonValue skipped_;  // scratch of skip_value()
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view name) const noexcept {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const auto& field) { return field.first == name; });
  return found == fields.end() ? nullptr : &found->second;
}

std::optional<bool> JsonValue::as_boolean() const noexcept {
  return kind == Kind::boolean ? std::optional(boolean) : std::nullopt;
}

std::optional<std::string_view> JsonValue::as_string() const noexcept {
  return kind == Kind::string ? std::optional<std::string_view>(text) : std::nullopt;
}

std::optional<std::int64_t> JsonValue::as_integer() const noexcept {
  if (kind != Kind::number && kind != Kind::string) return std::nullopt;
  return find_number<std::int64_t>(text);
}

std::optional<double> JsonValue::as_number() const noexcept {
  double number = 0;
  if (kind != Kind::number) return std::nullopt;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

Expected<JsonValue> read_json(std::string_view text, const JsonLimits& limits) {
  return Reader(text, limits).read();
}

}  // namespace damper::text
