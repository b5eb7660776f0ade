#include "damper/webhooks/api/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "damper/base/text/json_reader.h"
#include "damper/webhooks/api/api_server_testing.h"

namespace damper::webhooks {
namespace {

using text::JsonValue;

[[nodiscard]] JsonValue document() {
  auto value = text::read_json(openapi_document("1.2.3"),
                               {.bytes = 1 << 20, .depth = 20, .values = 100'000});
  EXPECT_TRUE(value) << (value ? "" : value.error());
  return value ? *std::move(value) : JsonValue{};
}

[[nodiscard]] std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return static_cast<char>(c - 32); });
  return text;
}

void find_references(const JsonValue& value, std::set<std::string>& out) {
  for (const JsonValue& item : value.items) find_references(item, out);
  for (const auto& [name, field] : value.fields) {
    if (name == "$ref") out.insert(field.text);
    find_references(field, out);
  }
}

TEST(OpenApi, HasEveryRouteAndNoOther) {
  std::set<std::string> documented;
  const JsonValue all = document();
  for (const auto& [path, operations] : all.find("paths")->fields) {
    for (const auto& [method, operation] : operations.fields) {
      documented.insert(upper(method) + " " + path);
    }
  }
  std::set<std::string> routes;
  std::set<std::string_view> names;
  for (const Route& route : all_routes()) {
    routes.insert(std::string(route.method) + " " + std::string(route.path));
    EXPECT_TRUE(names.insert(route.name).second) << route.name;
  }
  EXPECT_EQ(documented, routes);
  EXPECT_EQ(routes.size(), all_routes().size());
}

TEST(OpenApi, EveryReferenceHasASchema) {
  const JsonValue all = document();
  EXPECT_EQ(all.find("openapi")->text, "3.1.0");
  EXPECT_EQ(all.find("info")->find("version")->text, "1.2.3");
  std::set<std::string> references;
  find_references(all, references);
  std::set<std::string> schemas;
  for (const auto& [name, schema] : all.find("components")->find("schemas")->fields) {
    schemas.insert("#/components/schemas/" + name);
  }
  EXPECT_EQ(references, schemas);  // Nor is one unused.
}

// ---- The document against a running server.

// Whether a value is one of the document's schema; adds what is wrong.
class Checker {
 public:
  explicit Checker(const JsonValue& document)
      : schemas_(*document.find("components")->find("schemas")) {}

  void check(const JsonValue& value, const JsonValue& schema, const std::string& where) {
    if (const JsonValue* const reference = schema.find("$ref")) {
      const std::string name = reference->text.substr(reference->text.rfind('/') + 1);
      return check(value, *schemas_.find(name), where);
    }
    const JsonValue* const type = schema.find("type");
    if (type == nullptr) return;  // any
    EXPECT_TRUE(has_type(value, *type)) << where;
    if (value.kind == JsonValue::Kind::array) {
      for (const JsonValue& item : value.items) check(item, *schema.find("items"), where + "[]");
    }
    if (value.kind == JsonValue::Kind::object) check_fields(value, schema, where);
  }

 private:
  [[nodiscard]] static bool has_type(const JsonValue& value, const JsonValue& type) {
    if (type.kind == JsonValue::Kind::array) {
      return std::ranges::any_of(type.items,
                                 [&](const JsonValue& one) { return has_type(value, one); });
    }
    if (type.text == "integer") return value.kind == JsonValue::Kind::number && value.as_integer();
    constexpr std::array<std::string_view, 6> kKinds = {"null",   "boolean", "number",
                                                        "string", "array",   "object"};
    return type.text == kKinds[static_cast<std::size_t>(value.kind)];
  }
  void check_fields(const JsonValue& value, const JsonValue& schema, const std::string& where) {
    const JsonValue* const properties = schema.find("properties");
    for (const auto& [name, field] : value.fields) {
      const std::string at = where + "." + name;
      if (properties == nullptr) {
        check(field, *schema.find("additionalProperties"), at);
      } else if (const JsonValue* const known = properties->find(name)) {
        check(field, *known, at);
      } else {
        ADD_FAILURE() << at << " is not in the document";
      }
    }
    if (properties == nullptr) return;
    for (const JsonValue& name : schema.find("required")->items) {
      EXPECT_NE(value.find(name.text), nullptr) << where << " has no " << name.text;
    }
  }

  const JsonValue& schemas_;
};

// A body that the operation accepts.
[[nodiscard]] std::string body_of(Operation operation) {
  switch (operation) {
    case Operation::create_application: return R"({"name":"new"})";
    case Operation::create_endpoint:
      return R"({"url":"http://example.com","headers":{"X-A":"b"},)"
             R"("retries":["1s"],"filter":{"a.b":"c"}})";
    case Operation::change_endpoint:
      return R"({"disabled":true,"disabled_reason":"x","rate":1.5,"timeout":"2s",)"
             R"("schedule":"equal","backoff_base":"1s","max_attempts":7,"max_age":"1h"})";
    case Operation::rotate_secret: return R"({"grace":"1h"})";
    case Operation::send_message:
      return R"({"type":"a.b","payload":{"x":[1]},"channel":"c","ordering_key":"k"})";
    case Operation::redrive: return R"({"dry_run":true})";
    case Operation::create_redrive: return R"({"reason":"none"})";
    case Operation::set_switch:
    case Operation::set_application_switch:
    case Operation::set_endpoint_switch: return R"({"off":true,"reason":"x","for":"1m"})";
    default: return {};
  }
}

// What removes or disables something is last.
[[nodiscard]] int rank(Operation operation) {
  switch (operation) {
    case Operation::change_endpoint: return 1;
    case Operation::remove_endpoint: return 2;
    case Operation::remove_application: return 3;
    default: return 0;
  }
}

void replace(std::string& text, const std::string& what, const std::string& with) {
  if (const std::size_t at = text.find(what); at != std::string::npos) {
    text.replace(at, what.size(), with);
  }
}

TEST(OpenApi, TheServerAnswersEveryOperationAsTheDocumentHasIt) {
  ApiServer api;
  api.deliveries.state.last_error = "connect_refused";
  const std::string endpoint = api.add_endpoint();
  const std::string message =
      api.ask("POST", "/v1/applications/default/messages", R"({"type":"a","payload":{"b":[]}})",
              "Idempotency-Key: k\r\n")["id"];
  const Id id = *parse_id(kMessagePrefix, message);
  const Id to = *parse_id(kEndpointPrefix, endpoint);
  api.store.edit([&](MemoryStore& rows) {
    rows.attempts.push_back({.number = 1,
                             .message = id,
                             .endpoint = to,
                             .time = kApiNow,
                             .outcome = "transport",
                             .error = "connect_refused",
                             .answer = "x"});
    rows.dead.push_back({.endpoint = to, .message = id, .time = kApiNow, .reason = "x"});
  });
  const auto served = api.get("/openapi.json");
  ASSERT_EQ(served.status, 200);
  const JsonValue all = served.json();
  Checker checker(all);
  std::vector<Route> routes(all_routes().begin(), all_routes().end());
  std::ranges::stable_sort(routes, {}, [](const Route& route) { return rank(route.operation); });
  std::string redrive;
  for (const Route& route : routes) {
    std::string path(route.path);
    replace(path, "{application}", "default");
    replace(path, "{endpoint}", endpoint);
    replace(path, "{message}", message);
    replace(path, "{switch}", "retries");
    replace(path, "{redrive}", redrive);
    const std::string name = std::string(route.method) + " " + std::string(route.path);
    std::string method(route.method);
    const auto answer = api.ask(method, path, body_of(route.operation));
    EXPECT_EQ(answer.status, route.status) << name << answer.body;
    if (route.operation == Operation::create_redrive) redrive = answer["id"];
    std::ranges::transform(method, method.begin(),
                           [](char c) { return static_cast<char>(c + 32); });
    const JsonValue* const operation = all.find("paths")->find(route.path)->find(method);
    ASSERT_NE(operation, nullptr) << name;
    const JsonValue* const responses = operation->find("responses");
    const JsonValue* const response = responses->find(std::to_string(answer.status));
    ASSERT_NE(response, nullptr) << name;
    const JsonValue* const content = response->find("content");
    if (content == nullptr) {
      EXPECT_TRUE(answer.status == 204 ? answer.body.empty() : path == "/openapi.json") << name;
      continue;
    }
    checker.check(answer.json(), *content->find("application/json")->find("schema"), name);
    // A refusal is an Error, whatever the route.
    const auto refused = api.ask(std::string(route.method), path + "?unknown=1", "{}");
    EXPECT_GE(refused.status, 400) << name;
    checker.check(
        refused.json(),
        *responses->find("default")->find("content")->find("application/json")->find("schema"),
        name);
  }
}

}  // namespace
}  // namespace damper::webhooks
