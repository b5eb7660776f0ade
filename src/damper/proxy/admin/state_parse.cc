// The reading half.
#include "damper/proxy/admin/state_json.h"

#include <algorithm>
#include <charconv>
#include <concepts>

#include "damper/base/text/json_reader.h"
#include "damper/proxy/admin/state_fields.h"

namespace damper::proxy {
namespace {

using text::JsonValue;

constexpr text::JsonLimits kLimits{
    .bytes = std::size_t{8} * 1024 * 1024, .depth = 8, .values = 1'000'000};

// A field that is missing or has another type is left as it is.
class Reader {
 public:
  explicit Reader(const JsonValue& from) : from_(from) {}

  template <class Field>
  void operator()(std::string_view key, Field&& to) {
    if (const JsonValue* value = from_.find(key)) read(*value, to);
  }

 private:
  static void read(const JsonValue& from, bool& to) { to = from.as_boolean().value_or(to); }
  static void read(const JsonValue& from, std::string& to) {
    if (const auto text = from.as_string()) to = *text;
  }
  static void read(const JsonValue& from, double& to) { to = from.as_number().value_or(to); }
  template <std::integral Integer>
  static void read(const JsonValue& from, Integer& to) {
    if (from.kind != JsonValue::Kind::number) return;
    const char* const last = from.text.data() + from.text.size();
    Integer number = 0;
    const auto [end, failed] = std::from_chars(from.text.data(), last, number);
    if (failed == std::errc{} && end == last) to = number;
  }
  // Seconds.
  static void read(const JsonValue& from, Duration& to) {
    if (from.kind == JsonValue::Kind::null) {
      to = kForever;
      return;
    }
    constexpr double kMost = 9e9;  // Nanoseconds in 63 bits.
    double seconds = 0;
    read(from, seconds);
    to = std::chrono::round<Duration>(
        std::chrono::duration<double>(std::clamp(seconds, -kMost, kMost)));
  }
  static void read(const JsonValue& from, SwitchScope& to) {
    if (auto scope = parse_scope(from.as_string().value_or(""))) to = *std::move(scope);
  }
  static void read(const JsonValue& from, Maybe<bool, admit::BreakerState>& to) {
    const auto& names = admit::kBreakerStateNames;
    const auto* const state = std::find(names.begin(), names.end(), from.as_string());
    to.has = state != names.end();
    if (to.has) to.value = static_cast<admit::BreakerState>(state - names.begin());
  }
  static void read(const JsonValue& from, Maybe<bool, std::int32_t>& to) {
    to.has = from.kind == JsonValue::Kind::number;
    read(from, to.value);
  }
  template <class Counts, class Names>
  static void read(const JsonValue& from, NamedCounts<Counts, Names>& to) {
    Reader reader(from);
    for (std::size_t i = 0; i < to.counts.size(); ++i) reader(to.names[i], to.counts[i]);
  }
  template <class Part>
  static void read(const JsonValue& from, std::vector<Part>& to) {
    for (const JsonValue& item : from.items) {
      if (item.kind == JsonValue::Kind::object) read(item, to.emplace_back());
    }
  }
  template <class Part>
    requires std::is_class_v<Part>
  static void read(const JsonValue& from, Part& to) {
    Reader reader(from);
    visit_fields(to, reader);
  }

  const JsonValue& from_;
};

}  // namespace

Expected<ProxyState, std::string> parse_state(std::string_view text) {
  const auto from = text::read_json(text, kLimits);
  if (!from || from->find("version") == nullptr || from->find("routes") == nullptr) {
    return unexpected(std::string("this is no state of a proxy"));
  }
  ProxyState to;
  Reader reader(*from);
  visit_fields(to, reader);
  if (from->find("loops_answered") == nullptr) to.answered = to.loops;  // An older proxy.
  return to;
}

Expected<std::vector<ScopeState>, std::string> parse_switches(std::string_view text) {
  const auto from = text::read_json(text, kLimits);
  if (!from || from->find("switches") == nullptr) {
    return unexpected(std::string("these are no switches of a proxy"));
  }
  std::vector<ScopeState> to;
  Reader{*from}("switches", to);
  return to;
}

}  // namespace damper::proxy
