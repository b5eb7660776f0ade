#include "damper/proxy/request/field_editor.h"

#include <array>
#include <charconv>

#include "damper/http/server/guard_refusal.h"
#include "damper/proxy/request/forward_fields.h"
#include "damper/proxy/request/own_answer.h"

namespace damper::proxy {
namespace {

constexpr bool kValidated = true;  // by the configuration's parser

std::string_view value_of(FieldVariable variable, const FieldContext& context) noexcept {
  switch (variable) {
    case FieldVariable::client_address: return context.client_address;
    case FieldVariable::request_id: return context.request_id;
    case FieldVariable::host: return context.host;
    case FieldVariable::route: return context.route;
  }
  return {};
}

void remove_field(std::vector<http::Field>& fields, std::string_view name) {
  std::erase_if(fields, [&](const http::Field& one) { return http::same_name(one.name, name); });
}

}  // namespace

void expand_variables(std::string_view value, const FieldContext& context, std::string& into) {
  into.clear();
  while (true) {
    const std::size_t at = value.find('%');
    into += value.substr(0, at);
    if (at == std::string_view::npos) return;
    const std::size_t end = value.find('%', at + 1);
    if (end == std::string_view::npos) return;
    const std::string_view name = value.substr(at + 1, end - at - 1);
    if (name.empty()) into += '%';
    if (const auto variable = kFieldVariables.find(name)) into += value_of(*variable, context);
    value.remove_prefix(end + 1);
  }
}

http::Field FieldEditor::make(const FieldEdits::Field& field, const FieldContext& context) {
  if (field.value.find('%') == std::string::npos) return {field.name, field.value, kValidated};
  std::string& value = values_[used_++];
  expand_variables(field.value, context, value);
  return {field.name, value};
}

void FieldEditor::edit(const FieldEdits& edits, const FieldContext& context,
                       std::vector<http::Field>& fields) {
  used_ = 0;
  const std::size_t most = edits.set.size() + edits.add.size();
  if (values_.size() < most) values_.resize(most);  // Before any view of one is taken.
  for (const std::string& name : edits.remove) remove_field(fields, name);
  for (const FieldEdits::Field& field : edits.set) {
    remove_field(fields, field.name);
    fields.push_back(make(field, context));
  }
  for (const FieldEdits::Field& field : edits.add) fields.push_back(make(field, context));
}

std::span<const http::Field> ResponseFields::make(std::span<const http::Field> fields,
                                                  const FieldEdits& edits,
                                                  const FieldContext& context, const Own& own) {
  fields = without_own_fields(fields, fields_);
  const bool remarkable = is_remarkable(own.verdict);
  if (edits.empty() && !remarkable && own.attempts <= 1 && own.set_cookie.empty()) return fields;
  if (fields.data() != fields_.data()) fields_.assign(fields.begin(), fields.end());
  if (!edits.empty()) editor_.edit(edits, context, fields_);
  if (remarkable) fields_.push_back({http::kVerdictHeader, name(own.verdict)});
  if (own.attempts > 1) {
    std::array<char, 12> digits{};
    char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), own.attempts).ptr;
    number_.assign(digits.data(), end);
    fields_.push_back({kAttemptsHeader, number_});
  }
  if (!own.set_cookie.empty()) fields_.push_back({"set-cookie", own.set_cookie});
  return fields_;
}

std::span<const http::Field> ResponseFields::edit(std::span<const http::Field> fields,
                                                  const FieldEdits& edits,
                                                  const FieldContext& context) {
  if (edits.empty()) return fields;
  fields_.assign(fields.begin(), fields.end());
  editor_.edit(edits, context, fields_);
  return fields_;
}

}  // namespace damper::proxy
