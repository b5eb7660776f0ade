#include "damper/proxy/import/import_match.h"

#include <array>
#include <vector>

#include "damper/base/text/words.h"
#include "damper/proxy/config/trust.h"

namespace damper::proxy {
namespace {

using config::Tree;
using policy::Fields;
using policy::ImportNotes;

// "GET|POST" as GET, POST; nothing for an expression that is not a list of words.
std::vector<std::string> words_of(std::string_view regex) {
  if (regex.starts_with('(') && regex.ends_with(')')) regex = regex.substr(1, regex.size() - 2);
  std::vector<std::string> words(1);
  for (const char c : regex) {
    if (c == '|') {
      words.emplace_back();
    } else if (c >= 'A' && c <= 'Z') {
      words.back() += c;
    } else {
      return {};
    }
  }
  return words;
}

std::string regex_of(const Tree& tree, ImportNotes& notes) {
  if (tree.is_scalar()) return tree.text;
  Fields fields(tree, "safe_regex", notes);
  fields.skip({"google_re2"});
  return fields.text("regex");
}

// Reads the conditions on fields; :method becomes match.methods.
class HeaderReader {
 public:
  HeaderReader(PartDraft& route, ImportNotes& notes) : route_(route), notes_(notes) {}

  [[nodiscard]] bool read(const Tree& tree) {
    Fields fields(tree, "the header matcher", notes_);
    const std::string name = fields.text("name");
    const auto present = fields.boolean("present_match");
    std::optional<std::string> exact;
    std::optional<std::string> regex;
    if (fields.has("exact_match")) exact = fields.text("exact_match");
    if (const Tree* pattern = fields.take("safe_regex_match")) regex = regex_of(*pattern, notes_);
    if (const Tree* match = fields.take("string_match")) {
      Fields inner(*match, "string_match", notes_);
      if (inner.has("exact")) exact = inner.text("exact");
      if (const Tree* pattern = inner.take("safe_regex")) regex = regex_of(*pattern, notes_);
      if (inner.is_true("ignore_case") ||
          has_more(*match, {"exact", "safe_regex", "ignore_case"})) {
        return refuse(tree, name);
      }
    }
    const bool is_inverted = fields.is_true("invert_match");
    if (is_inverted || (present && !present->value) ||
        has_more(tree, {"name", "present_match", "exact_match", "safe_regex_match", "string_match",
                        "invert_match"})) {
      return refuse(tree, name);
    }
    if (name == ":method") return read_method(tree, exact, regex);
    if (regex || name.empty() || name.starts_with(':')) return refuse(tree, name);
    if (is_trusted_field(name)) {
      notes_.note(tree.place, name +
                                  " is removed from requests of peers that trust does not list, "
                                  "before routes are looked up: for them the route never matches");
    }
    // A matcher without a condition wants the field to be there, whatever it is.
    Tree item = make_map({{"name", name}}, tree.place);
    item.items.push_back(make_scalar(exact ? "exact_match" : "present_match", tree.place));
    item.items.push_back(make_scalar(exact ? *exact : "true", tree.place));
    headers_.items.push_back(std::move(item));
    return true;
  }

  [[nodiscard]] bool finish(config::SourceLocation place) {
    if (!headers_.items.empty()) {
      headers_.kind = Tree::Kind::sequence;
      headers_.place = place;
      route_.set("match.headers", headers_);
      if (!route_.has("match.headers")) return false;
    }
    return true;
  }

 private:
  static bool has_more(const Tree& map, std::initializer_list<std::string_view> known) {
    ImportNotes silent("");
    Fields fields(map, "", silent);
    fields.skip(known);
    fields.leave_rest();
    return silent.has_left_out();
  }

  bool refuse(const Tree& tree, const std::string& name) {
    notes_.left_out(tree.place, "the condition on header " + text::in_quotes(name) +
                                    " has no equivalent: only whole values, and presence, can be "
                                    "matched");
    return false;
  }

  bool read_method(const Tree& tree, const std::optional<std::string>& exact,
                   const std::optional<std::string>& regex) {
    const std::vector<std::string> methods =
        exact ? std::vector<std::string>{*exact} : words_of(regex.value_or(std::string()));
    if (methods.empty() || methods.front().empty()) return refuse(tree, ":method");
    route_.set("match.methods", make_list(methods, tree.place));
    return route_.has("match.methods");
  }

  PartDraft& route_;
  ImportNotes& notes_;
  Tree headers_;
};

// A prefix, which there ends anywhere and here at a slash.
void set_prefix(std::string_view prefix, bool is_separated, config::SourceLocation place,
                PartDraft& route, ImportNotes& notes) {
  if (prefix.empty() || prefix == "/") return;
  route.set("match.prefix", prefix, place);
  if (is_separated || prefix.ends_with('/')) return;
  notes.note(place, "prefix " + text::in_quotes(prefix) +
                        " matches whole segments here: " + text::on_one_line(prefix) +
                        "/x, but not " + text::on_one_line(prefix) + "x");
}

// The path's condition. False if it has no equivalent.
bool read_path_of(Fields& fields, PartDraft& route, ImportNotes& notes) {
  if (const Tree* prefix = fields.take("prefix")) {
    set_prefix(prefix->text, false, prefix->place, route, notes);
    return prefix->text.empty() || prefix->text == "/" || route.has("match.prefix");
  }
  if (const Tree* prefix = fields.take("path_separated_prefix")) {
    set_prefix(prefix->text, true, prefix->place, route, notes);
    return route.has("match.prefix");
  }
  if (const Tree* path = fields.take("path")) {
    route.set("match.path", path->text, path->place);
    return route.has("match.path");
  }
  if (const Tree* regex = fields.take("safe_regex")) {
    const std::string text = regex_of(*regex, notes);
    const auto plain = find_plain_path(text);
    if (!plain) {
      notes.left_out(regex->place, "safe_regex " + text::in_quotes(text) +
                                       " has no equivalent: only a path or a prefix can be "
                                       "matched");
      return false;
    }
    if (plain->is_prefix) {
      set_prefix(plain->text, true, regex->place, route, notes);
    } else {
      route.set("match.path", plain->text, regex->place);
    }
    return plain->text == "/" || route.has("match.path") || route.has("match.prefix");
  }
  if (const Tree* connect = fields.take("connect_matcher")) {
    route.set("match.methods", make_list({"CONNECT"}, connect->place));
    notes.note_once("connect_matcher", connect->place,
                    "CONNECT is tunnelled by this route, with or without an upgrade_config");
  }
  return true;
}

}  // namespace

std::optional<PlainPath> find_plain_path(std::string_view regex) {
  if (regex.starts_with('^')) regex.remove_prefix(1);
  if (regex.ends_with('$')) regex.remove_suffix(1);
  PlainPath path;
  if (regex == ".*") return PlainPath{"/", true};
  for (const std::string_view end : {"(/.*)?", "(?:/.*)?", "(|/.*)", "/.*"}) {
    if (!regex.ends_with(end)) continue;
    regex.remove_suffix(end.size());
    path.is_prefix = true;
    if (end == "/.*") path.text = "/";
    break;
  }
  std::string literal;
  for (std::size_t i = 0; i < regex.size(); ++i) {
    constexpr std::string_view kLiteral =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_-~%:@!,;=&";
    const bool is_escaped = regex[i] == '\\' && i + 1 < regex.size();
    if (is_escaped) ++i;
    constexpr std::string_view kEscaped = ".-/_~+*$()";
    if ((is_escaped ? kEscaped : kLiteral).find(regex[i]) == std::string_view::npos) {
      return std::nullopt;
    }
    literal += regex[i];
  }
  path.text.insert(0, literal);
  if (!path.text.starts_with('/')) return std::nullopt;
  return path;
}

bool read_match(const Tree& tree, PartDraft& route, ImportNotes& notes) {
  Fields fields(tree, "match", notes);
  bool is_translated = read_path_of(fields, route, notes);
  HeaderReader headers(route, notes);
  const config::SourceLocation place = fields.place_of("headers");
  for (const Tree& header : fields.list("headers")) {
    is_translated = headers.read(header) && is_translated;
  }
  is_translated = headers.finish(place) && is_translated;
  const auto sensitive = fields.boolean("case_sensitive");
  if (sensitive && !sensitive->value) {
    notes.left_out(sensitive->place,
                   "case_sensitive: false has no equivalent: the case of a path "
                   "matters");
  }
  for (const std::string_view condition :
       {"query_parameters", "grpc", "runtime_fraction", "tls_context", "dynamic_metadata",
        "path_match_policy", "filter_state"}) {
    if (!fields.has(condition)) continue;
    fields.leave(condition, "requests are matched by host, path, method and fields");
    is_translated = false;
  }
  fields.leave_rest();
  return is_translated;
}

}  // namespace damper::proxy
