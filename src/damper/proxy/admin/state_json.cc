#include "damper/proxy/admin/state_json.h"

#include <sstream>

#include "damper/base/text/json_writer.h"
#include "damper/proxy/admin/state_fields.h"

namespace damper::proxy {
namespace {

class Writer {
 public:
  explicit Writer(text::JsonWriter& json) : json_(json) {}

  void operator()(std::string_view key, const std::string& text) { json_.field(key, text); }
  template <class Number>
    requires std::is_arithmetic_v<Number>  // or a truth
  void operator()(std::string_view key, Number number) {
    json_.field(key, number);
  }
  void operator()(std::string_view key, Duration length) {
    if (length == kForever) return json_.field(key, nullptr);
    json_.field(key, std::chrono::duration<double>(length).count());
  }
  void operator()(std::string_view key, const SwitchScope& scope) {
    json_.field(key, scope.text());
  }
  void operator()(std::string_view key, admit::BreakerState state) {
    json_.field(key, admit::name(state));
  }
  template <class Has, class Value>
  void operator()(std::string_view key, Maybe<Has, Value> maybe) {
    if (!maybe.has) return json_.field(key, nullptr);
    (*this)(key, maybe.value);
  }
  template <class Counts, class Names>
  void operator()(std::string_view key, NamedCounts<Counts, Names> named) {
    json_.open('{', key);
    for (std::size_t i = 0; i < named.counts.size(); ++i) {
      if (named.counts[i] != 0) json_.field(named.names[i], named.counts[i]);
    }
    json_.close('}');
  }
  template <class Part>
  void operator()(std::string_view key, const std::vector<Part>& list) {
    json_.open('[', key);
    for (const Part& part : list) (*this)({}, part);
    json_.close(']');
  }
  template <class Part>
    requires std::is_class_v<Part>
  void operator()(std::string_view key, const Part& part) {
    json_.open('{', key);
    visit_fields(part, *this);
    json_.close('}');
  }

 private:
  text::JsonWriter& json_;
};

}  // namespace

std::string state_json(const ProxyState& state) {
  std::ostringstream out;
  text::JsonWriter json(out);
  Writer{json}({}, state);
  return out.str();
}

std::string switches_json(const std::vector<ScopeState>& scopes) {
  std::ostringstream out;
  text::JsonWriter json(out);
  json.open('{');
  Writer{json}("switches", scopes);
  json.close('}');
  return out.str();
}

}  // namespace damper::proxy
