#include <sstream>
#include <string>

#include "damper/base/text/json_writer.h"
#include "damper/webhooks/api/routes.h"

namespace damper::webhooks {
namespace {

using text::JsonWriter;

[[nodiscard]] std::string reference(const Schema& schema) {
  return "#/components/schemas/" + std::string(schema.name);
}

void write_type(JsonWriter& json, std::string_view type, bool nullable) {
  if (!nullable) return json.field("type", type);
  json.open('[', "type");
  json.element(type);
  json.element("null");
  json.close(']');
}

void write_duration(JsonWriter& json, bool nullable) {
  write_type(json, "string", nullable);
  json.field("pattern", "^(0|[0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h))$");
}

// The content of the field's schema.
void write_field(JsonWriter& json, const SchemaField& field) {
  if (field.kind == FieldKind::object) return json.field("$ref", reference(*field.of));
  if (!field.description.empty()) json.field("description", field.description);
  switch (field.kind) {
    case FieldKind::text: write_type(json, "string", field.nullable); break;
    case FieldKind::boolean: write_type(json, "boolean", field.nullable); break;
    case FieldKind::integer: write_type(json, "integer", field.nullable); break;
    case FieldKind::number: write_type(json, "number", field.nullable); break;
    case FieldKind::duration: write_duration(json, field.nullable); break;
    case FieldKind::time:
      write_type(json, "string", field.nullable);
      json.field("format", "date-time");
      break;
    case FieldKind::text_map:
      write_type(json, "object", field.nullable);
      json.open('{', "additionalProperties");
      json.field("type", "string");
      json.close('}');
      break;
    case FieldKind::texts:
    case FieldKind::durations:
    case FieldKind::list:
      write_type(json, "array", field.nullable);
      json.open('{', "items");
      if (field.kind == FieldKind::list) {
        json.field("$ref", reference(*field.of));
      } else if (field.kind == FieldKind::durations) {
        write_duration(json, false);
      } else {
        json.field("type", "string");
      }
      json.close('}');
      break;
    case FieldKind::any:
    case FieldKind::object: break;
  }
}

void write_schema(JsonWriter& json, const Schema& schema) {
  json.open('{', schema.name);
  json.field("type", "object");
  json.field("additionalProperties", false);
  json.open('{', "properties");
  for (const SchemaField& field : schema.fields) {
    json.open('{', field.name);
    write_field(json, field);
    json.close('}');
  }
  json.close('}');
  json.open('[', "required");
  for (const SchemaField& field : schema.fields) {
    if (field.required) json.element(field.name);
  }
  json.close(']');
  json.close('}');
}

void write_content(JsonWriter& json, const Schema& schema) {
  json.open('{', "content");
  json.open('{', "application/json");
  json.open('{', "schema");
  json.field("$ref", reference(schema));
  json.close('}');
  json.close('}');
  json.close('}');
}

void write_parameter(JsonWriter& json, std::string_view name, std::string_view in) {
  json.open('{');
  json.field("name", name);
  json.field("in", in);
  json.field("required", in == "path");
  json.open('{', "schema");
  json.field("type", name == "limit" ? "integer" : "string");
  if (name == "limit") {
    json.field("minimum", 1);
    json.field("maximum", 250);
  }
  json.close('}');
  json.close('}');
}

void write_parameters(JsonWriter& json, const Route& route) {
  json.open('[', "parameters");
  for (std::size_t at = route.path.find('{'); at != route.path.npos;
       at = route.path.find('{', at + 1)) {
    const std::size_t end = route.path.find('}', at);
    write_parameter(json, route.path.substr(at + 1, end - at - 1), "path");
  }
  for (const std::string_view name : route.query) write_parameter(json, name, "query");
  if (route.operation == Operation::send_message) {
    write_parameter(json, "Idempotency-Key", "header");
  }
  json.close(']');
}

void write_operation(JsonWriter& json, const Route& route) {
  std::string method(route.method);
  for (char& c : method) c = static_cast<char>(c + 32);
  json.open('{', method);
  json.field("operationId", route.name);
  json.field("summary", route.summary);
  json.open('[', "security");
  json.open('{');
  if (route.scope) {
    json.open('[', "token");
    json.element(kApiScopeNames[*route.scope]);
    json.close(']');
  }
  json.close('}');
  json.close(']');
  write_parameters(json, route);
  if (route.body != nullptr) {
    json.open('{', "requestBody");
    json.field("required", true);
    write_content(json, *route.body);
    json.close('}');
  }
  json.open('{', "responses");
  json.open('{', std::to_string(route.status));
  json.field("description", "Success.");
  if (route.answer != nullptr) write_content(json, *route.answer);
  json.close('}');
  json.open('{', "default");
  json.field("description", "Refused: one sentence and a word for programs.");
  write_content(json, kError);
  json.close('}');
  json.close('}');
  json.close('}');
}

void write_paths(JsonWriter& json) {
  json.open('{', "paths");
  std::string written = "\n";  // paths, each in a line
  for (const Route& route : all_routes()) {
    const std::string path(route.path);
    if (written.find('\n' + path + '\n') != std::string::npos) continue;
    written += path + '\n';
    json.open('{', path);
    for (const Route& other : all_routes()) {
      if (other.path == route.path) write_operation(json, other);
    }
    json.close('}');
  }
  json.close('}');
}

}  // namespace

std::string openapi_document(std::string_view version) {
  std::ostringstream out;
  JsonWriter json(out);
  json.open('{');
  json.field("openapi", "3.1.0");
  json.open('{', "info");
  json.field("title", "damper webhooks");
  json.field("version", version);
  json.close('}');
  write_paths(json);
  json.open('{', "components");
  json.open('{', "schemas");
  for (const Schema* const schema : all_schemas()) write_schema(json, *schema);
  json.close('}');
  json.open('{', "securitySchemes");
  json.open('{', "token");
  json.field("type", "http");
  json.field("scheme", "bearer");
  json.close('}');
  json.close('}');
  json.close('}');
  json.close('}');
  return out.str();
}

}  // namespace damper::webhooks
