#include "damper/lab/scenario/builtin.h"

#include <algorithm>

#include "damper/base/text/words.h"
#include "damper/config/yaml_tree.h"
#include "damper/lab/scenario/scenario_file.h"

namespace damper::lab {
namespace {

std::string about_of(std::string_view text) {
  const auto tree = config::parse_yaml(text, "");
  const config::Tree* const about = tree ? tree->find("about") : nullptr;
  return about == nullptr ? std::string() : about->text;
}

std::vector<Builtin> make_builtins() {
  std::vector<Builtin> all;
  for (const BuiltinText& file : builtin_texts().first(builtin_texts().size() - 1)) {
    all.push_back({file.name, about_of(file.text), file.text});
  }
  return all;
}

}  // namespace

std::span<const Builtin> builtins() {
  static const std::vector<Builtin> kAll = make_builtins();
  return kAll;
}

const Builtin* find_builtin(std::string_view name) {
  const auto all = builtins();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Builtin& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

Expected<std::vector<Scenario>, config::Error> load_builtin(std::string_view name) {
  if (const Builtin* found = find_builtin(name)) return load_scenario(found->text, name);
  std::vector<std::string_view> names;
  for (const Builtin& each : builtins()) names.push_back(each.name);
  return unexpected(config::Error{.file = std::string(name),
                                  .place = {},
                                  .sentence = "is no built-in scenario" +
                                              text::suggestion(name, names) +
                                              " (there are: " + text::joined(names) + ")"});
}

std::string_view scenario_template() { return builtin_texts().back().text; }

}  // namespace damper::lab
