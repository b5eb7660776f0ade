#include "damper/proxy/config/proxy_schema.h"

namespace damper::proxy {
namespace {

std::string write_headers(const RouteMatch& match) {
  std::string text;
  for (const RouteMatch::Header& header : match.headers) {
    text += text.empty() ? "[" : ", ";
    text += "{ name: " + quoted(header.name);
    text += header.value ? ", exact_match: " + quoted(*header.value) : ", present_match: true";
    text += " }";
  }
  return text.empty() ? text : text + ']';
}

}  // namespace

std::optional<std::size_t> find_proxy_key(Thing thing, std::string_view path) {
  for (std::size_t i = 0; i < proxy_keys().size(); ++i) {
    if (proxy_keys()[i].thing == thing && proxy_keys()[i].form.path == path) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> find_proxy_section(Thing thing, std::string_view path) {
  for (std::size_t i = 0; i < proxy_sections().size(); ++i) {
    if (proxy_sections()[i].thing == thing && proxy_sections()[i].path == path) return i;
  }
  return std::nullopt;
}

std::vector<std::string_view> proxy_words(Thing thing, std::string_view section) {
  std::vector<std::string_view> words;
  const auto take = [&](Thing whose, std::string_view path) {
    if (whose == thing && policy::parent(path) == section) words.push_back(policy::leaf(path));
  };
  for (const ProxyKey& key : proxy_keys()) take(key.thing, key.form.path);
  for (const ProxySection& inner : proxy_sections()) take(inner.thing, inner.path);
  for (const ProxyMoved& path : proxy_moved()) take(path.thing, path.from);
  return words;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string write(const ProxyKey& key, const Subject& subject) {
  switch (key.shape) {
    case Shape::raw:
      return policy::write_raw(key.form, key.get(subject));
    case Shape::text: {
      const std::string text = key.text(subject);
      return text.empty() ? text : quoted(text);
    }
    case Shape::texts: {
      std::string out;
      for (const std::string& text : key.texts(subject)) {
        out += (out.empty() ? "[" : ", ") + quoted(text);
      }
      return out.empty() ? out : out + ']';
    }
    case Shape::headers:
      return write_headers(subject.route->match);
  }
  return {};
}

std::string accepted(const ProxyKey& key) {
  switch (key.shape) {
    case Shape::raw:
      return policy::accepted(key.form);
    case Shape::text:
      return std::string(key.accepted);
    case Shape::texts:
      return "a list of 1 to " + std::to_string(kMostTexts) + ", each " + std::string(key.accepted);
    case Shape::headers:
      return "a map from names to values, without a value for any, or a list of {name: NAME, "
             "exact_match: VALUE} or {name: NAME, present_match: true}";
  }
  return {};
}

}  // namespace damper::proxy
