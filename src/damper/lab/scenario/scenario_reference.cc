// The schema as the guide shows it.
#include "damper/lab/scenario/scenario_schema.h"

#include "damper/lab/runs/measure.h"

namespace damper::lab {
namespace {

// What accepted() says, less the examples that an error needs and a table does not.
std::string bounds(const Form& form) {
  std::string text = accepted(form);
  if (form.kind == ValueKind::distribution) return "distribution";
  if (const std::size_t examples = text.find(", such as"); examples != std::string::npos) {
    text.resize(examples);
  }
  return text.starts_with("a ") ? text.substr(2) : text;
}

template <class T>
std::string rows(std::string_view part, const T& thing) {
  std::string text = "| key | default | accepted | |\n|---|---|---|---|\n";
  const auto add = [&](std::string_view path, const std::string& standard, const std::string& form,
                       std::string_view doc) {
    text += "| `" + std::string(policy::leaf(path)) + "` | " + standard + " | " + form + " | " +
            std::string(doc) + " |\n";
  };
  for (const SchemaKey<T>& key : schema<T>().keys) {
    if (policy::parent(key.path) != part) continue;
    const std::string value = write_value(key.form, key.get(thing));
    const std::string standard = value == "none" ? std::string() : '`' + value + '`';
    add(key.path, key.required ? "required" : standard, bounds(key.form), key.doc);
  }
  for (const Part& inner : schema<T>().parts) {
    if (policy::parent(inner.path) != part) continue;
    add(inner.path, inner.required ? "required" : "", std::string(inner.accepted), inner.doc);
  }
  return text;
}

template <class T>
std::string tables() {
  const T fresh;
  std::string text = "\n### " + std::string(schema<T>().title) + "\n\n" + rows<T>("", fresh);
  for (const Part& part : schema<T>().parts) {
    if (words_in<T>(part.path).empty()) continue;
    text += "\n### " + std::string(part.path) + "\n\n" + std::string(part.doc) + "\n\n" +
            rows<T>(part.path, fresh);
  }
  return text;
}

std::string measure_table() {
  std::string text = "\n### Measures, for expect\n\n| measure | unit | |\n|---|---|---|\n";
  for (const Measure& measure : measures()) {
    text += "| `" + std::string(measure.name) + "` | " + std::string(measure.unit) + " | " +
            std::string(measure.what) + ". |\n";
  }
  return text;
}

}  // namespace

std::string reference() {
  return tables<Scenario>() + tables<ServiceSpec>() + tables<CallSpec>() + tables<ClientsSpec>() +
         tables<ControllersSpec>() + tables<FaultSpec>() + tables<Expectation>() + measure_table();
}

}  // namespace damper::lab
