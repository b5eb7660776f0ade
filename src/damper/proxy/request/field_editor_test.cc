#include "damper/proxy/request/field_editor.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace damper::proxy {
namespace {

std::string text_of(std::span<const http::Field> fields) {
  std::string text;
  for (const http::Field& field : fields) {
    text.append(field.name).append("=").append(field.value).append(" ");
  }
  return text;
}

const FieldContext kContext{
    .client_address = "10.1.2.3", .request_id = "id7", .host = "shop.example", .route = "shop"};

TEST(FieldEditor, RemovesThenSetsThenAdds) {
  std::vector<http::Field> fields = {{"A", "1"}, {"b", "2"}, {"a", "3"}, {"c", "4"}};
  FieldEditor editor;
  const FieldEdits edits = {.add = {{"c", "5"}, {"a", "6"}}, .set = {{"b", "7"}}, .remove = {"a"}};
  editor.edit(edits, kContext, fields);
  EXPECT_EQ(text_of(fields), "c=4 b=7 c=5 a=6 ");
}

TEST(FieldEditor, VariablesAreReplacedAndValidatedAgain) {
  std::vector<http::Field> fields;
  FieldEditor editor;
  const FieldEdits edits = {
      .add = {{"a", "%CLIENT_ADDRESS%/%REQUEST_ID%"}, {"b", "100%%"}, {"c", "x"}},
      .set = {{"d", "%HOST% of %ROUTE%"}}};
  editor.edit(edits, kContext, fields);
  EXPECT_EQ(text_of(fields), "d=shop.example of shop a=10.1.2.3/id7 b=100% c=x ");
  EXPECT_FALSE(fields[0].validated);
  EXPECT_TRUE(fields[3].validated);  // literal: the configuration's parser has seen it
}

TEST(ResponseFields, WithoutEditsVerdictAndAttemptsNothingIsCopied) {
  const std::vector<http::Field> fields = {{"a", "1"}};
  ResponseFields response;
  const auto same = response.make(fields, {}, kContext, {.verdict = Verdict::success});
  EXPECT_EQ(same.data(), fields.data());
  EXPECT_EQ(response.edit(fields, {}, kContext).data(), fields.data());
}

TEST(ResponseFields, TheProxysOwnFieldsComeAfterTheEdits) {
  const std::vector<http::Field> fields = {{"damper-attempts", "9"}, {"server", "x"}, {"a", "1"}};
  ResponseFields response;
  const FieldEdits edits = {.add = {{"b", "2"}}, .remove = {"server"}};
  const auto made =
      response.make(fields, edits, kContext, {.verdict = Verdict::attempts_spent, .attempts = 3});
  EXPECT_EQ(text_of(made), "a=1 b=2 damper-verdict=attempts_spent damper-attempts=3 ");
}

}  // namespace
}  // namespace damper::proxy
