// The JSON Schema (draft 2020-12) of a file, for editors.
#include <algorithm>
#include <map>

#include "damper/base/text/utf8.h"
#include "damper/config/schema.h"

namespace damper::config {
namespace {

using text::json_string;

std::string decimal(double value) { return write_value({.kind = Kind::number}, value); }

std::string between(double low, double high) {
  return "\"minimum\":" + decimal(low) + ",\"maximum\":" + decimal(high);
}

std::string one_of(std::span<const std::string_view> words) {
  std::string list;
  for (const std::string_view word : words) list += (list.empty() ? "" : ",") + json_string(word);
  return "\"enum\":[" + list + ']';
}

std::string percentage(const Form& form) {
  const std::string number =
      R"({"type":"number",)" + between(form.low / 100, form.high / 100) + '}';
  return number + R"(,{"type":"string","pattern":"^[0-9]+(\\.[0-9]+)? *%$"},)" +
         R"({"type":"object","properties":{"value":)" + number +
         R"(},"required":["value"],"additionalProperties":false})";
}

// What the form accepts beside `off_word`.
std::string plain_schema_of(const Form& form) {
  constexpr std::string_view kText = R"("type":["string","number","boolean"])";
  switch (form.kind) {
    case Kind::duration:  // A number has no unit: 0 is the only one.
      return R"("type":["string","integer"],)"
             R"("pattern":"^([0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h)|0)$",)" +
             between(0, 0);
    case Kind::percent: return "\"anyOf\":[" + percentage(form) + ']';
    case Kind::integer: return "\"type\":\"integer\"," + between(form.low, form.high);
    case Kind::bytes:
      return R"("type":["integer","string"],"pattern":"^[0-9]+ ?([KMG]iB)?$",)" +
             between(form.low, form.high);
    case Kind::rate: return "\"type\":\"number\"," + between(form.low / 1000, form.high / 1000);
    case Kind::boolean:
      return form.low == form.high ? std::string("\"const\":") + (form.low > 0 ? "true" : "false")
                                   : "\"type\":\"boolean\"";
    case Kind::choice: return one_of(form.names);
    case Kind::chance:
      return "\"anyOf\":[" + percentage(form) +
             R"(,{"type":"object","properties":{"numerator":{"type":"integer","minimum":0},)"
             R"("denominator":{"enum":["HUNDRED","TEN_THOUSAND","MILLION"]}},)"
             R"("required":["numerator"],"additionalProperties":false}])";
    case Kind::tokens:
      return R"("type":["string","array"],"items":{)" + one_of(form.names) + '}' +
             (form.fewest > 0 ? R"(,"minItems":1,"minLength":1)" : "");
    case Kind::number: return "\"type\":\"number\"," + between(form.low, form.high);
    case Kind::share:
      return R"("type":["number","string"],"pattern":"^[0-9]+(\\.[0-9]+)?%$",)" +
             between(form.low, form.high);
    case Kind::text: return std::string(kText);
    case Kind::texts:
      return R"("type":["string","array"],"items":{)" + std::string(kText) +
             "},\"minItems\":" + std::to_string(form.fewest) +
             ",\"maxItems\":" + std::to_string(form.most);
    case Kind::numbers:
      return R"("type":["array","object"],"items":{"type":"number",)" +
             between(form.low, form.high) +
             R"(},"properties":{"from":{"type":"number"},"to":{"type":"number"},)"
             R"("step":{"type":"number"}},"additionalProperties":false)";
    case Kind::wholes:
      return R"("type":"array","items":{"type":"integer",)" + between(form.low, form.high) + '}';
    case Kind::custom: return R"("type":["object","array"])";
  }
  return {};
}

// Writes the schemas of maps, each that is an element once, in "$defs".
class Writer {
 public:
  std::string object(const Section::Schemas& schemas) {
    std::string properties;
    std::string required;
    for (const AnySchema* schema : schemas) {
      append(properties, properties_in(*schema, "", ""));
      append(required, required_of(*schema));
    }
    const std::string_view word = schemas.front()->word();
    std::string text = schemas.front()->may_be_null() ? R"({"type":["object","null"])"
                       : word.empty()                 ? R"({"type":"object")"
                                                      : R"({"type":["object","string"])";
    text += ",\"properties\":{" + properties + "},\"additionalProperties\":false";
    if (!required.empty()) text += ",\"required\":[" + required + ']';
    return text + '}';
  }

  [[nodiscard]] std::string definitions() const {
    std::string text;
    for (const auto& [name, body] : definitions_) append(text, json_string(name) + ':' + body);
    return '{' + text + '}';
  }

 private:
  static void append(std::string& list, const std::string& more) {
    if (!list.empty() && !more.empty()) list += ',';
    list += more;
  }

  static std::string required_of(const AnySchema& schema) {
    std::string text;
    const auto add = [&](const auto& row) {
      if (row.required) append(text, json_string(row.path));
    };
    std::for_each(schema.keys().begin(), schema.keys().end(), add);
    std::for_each(schema.sections().begin(), schema.sections().end(), add);
    return text;
  }

  // The same walk as the Reader's: a map at the path `given` that means `section`.
  std::string properties_in(const AnySchema& schema, const std::string& given,
                            std::string_view section) {
    std::string text;
    for (const std::string_view word : schema.words_in(given, section)) {
      const auto join = [&](std::string_view path) {
        return path.empty() ? std::string(word) : std::string(path) + '.' + std::string(word);
      };
      std::string path = join(section);
      for (const Alias& alias : schema.aliases()) {
        if (alias.from == join(given)) path = alias.to;
      }
      append(text, json_string(word) + ":{" + value(schema, join(given), path) + '}');
    }
    return text;
  }

  std::string value(const AnySchema& schema, const std::string& given, const std::string& path) {
    if (const auto key = schema.find_key(path)) {
      const Key& row = schema.keys()[*key];
      return json_schema_of(row.form) + ",\"description\":" + json_string(row.doc);
    }
    const auto position = schema.find_section(path);
    if (!position) return map_of(properties_in(schema, given, path));
    const Section& row = schema.sections()[*position];
    const std::string doc = ",\"description\":" + json_string(row.doc);
    if (row.items != Section::Items::none) return items(row) + doc;
    const std::string map = map_of(properties_in(schema, given, path));
    if (row.turn != nullptr) return R"("anyOf":[{"enum":["on","off"]},{)" + map + "}]" + doc;
    if (row.word.empty()) return map + doc;
    return "\"anyOf\":[{" + json_schema_of(schema.key_at(row.word).form) + "},{" + map + "}]" + doc;
  }

  static std::string map_of(const std::string& properties) {
    return R"("type":"object","properties":{)" + properties + R"(},"additionalProperties":false)";
  }

  std::string items(const Section& section) {
    const bool is_named = section.items == Section::Items::named;
    std::string element = section.element == nullptr ? "" : definition(section);
    if (section.items == Section::Items::list) return R"("type":"array","items":{)" + element + '}';
    if (!is_named) return element;
    return R"("type":"object","minProperties":1,"additionalProperties":{)" + element + '}';
  }

  // A reference to the element's schema.
  std::string definition(const Section& section) {
    const Section::Schemas schemas = section.element();
    const std::string name = std::string(schemas.front()->title());
    if (!definitions_.contains(name)) definitions_[name] = object(schemas);
    return "\"$ref\":" + json_string("#/$defs/" + name);
  }

  std::map<std::string, std::string> definitions_;
};

}  // namespace

std::string json_schema_of(const Form& form) {
  if (!form.off) return plain_schema_of(form);
  return "\"anyOf\":[{" + plain_schema_of(form) + "},{\"const\":" + json_string(form.off_word) +
         "}]";
}

std::string json_schema(std::string_view title, const Section::Schemas& top) {
  Writer writer;
  std::string object = writer.object(top);
  object.pop_back();  // The brace, for "$defs".
  return R"({"$schema":"https://json-schema.org/draft/2020-12/schema","title":)" +
         json_string(title) + ',' + object.substr(1) + ",\"$defs\":" + writer.definitions() + "}\n";
}

}  // namespace damper::config
