#include "damper/http/codec/message.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace damper::http {
namespace {

std::string text(const FieldList& fields) {
  std::string all;
  for (const Field& field : fields.view()) {
    all += std::string(field.name) + "=" + std::string(field.value) + " ";
  }
  return all;
}

TEST(FieldList, FieldsKeepTheirOrderAndNamesHaveNoCase) {
  FieldList fields{{"A", "1"}, {"b", ""}, {"a", "2"}};
  EXPECT_EQ(text(fields), "A=1 b= a=2 ");
  EXPECT_EQ(fields.size(), 3U);
  EXPECT_EQ(fields.find("a"), "1");
  EXPECT_EQ(fields.find("B"), "");
  EXPECT_EQ(fields.find("c"), std::nullopt);
}

TEST(FieldList, SetReplacesAllOfTheNameAndRemoveTakesThemOut) {
  FieldList fields{{"A", "1"}, {"b", "long enough to leave a gap"}, {"a", "2"}, {"c", "3"}};
  fields.set("B", "x");
  EXPECT_EQ(text(fields), "A=1 a=2 c=3 B=x ");
  fields.remove("a");
  EXPECT_EQ(text(fields), "c=3 B=x ");
  fields.add("a", "4");
  fields.remove("nothing");
  EXPECT_EQ(text(fields), "c=3 B=x a=4 ");
  fields.remove("c");
  fields.remove("b");
  fields.remove("a");
  EXPECT_TRUE(fields.empty());
  EXPECT_EQ(text(fields), "");
}

TEST(FieldList, ACopyAndAMovedListStandAlone) {
  FieldList first{{"a", "1"}};
  EXPECT_EQ(text(first), "a=1 ");
  FieldList second = first;
  first.set("a", "changed");
  EXPECT_EQ(text(second), "a=1 ");
  const FieldList third = std::move(second);
  EXPECT_EQ(text(third), "a=1 ");
}

TEST(FieldList, AnEmptyListsViewHoldsNothing) {
  const FieldList fields;
  EXPECT_EQ(fields.view().data(), nullptr);  // No memory was asked for.
}

TEST(ValidField, RefusesWhatCouldBeReadAsMoreThanOneField) {
  EXPECT_TRUE(valid_field("x-name", "a value; with=\"all\" \t of \x80 it"));
  EXPECT_TRUE(valid_field("x", ""));
  EXPECT_FALSE(valid_field("", "x"));
  EXPECT_FALSE(valid_field("x y", "x"));
  EXPECT_FALSE(valid_field("x:", "x"));
  EXPECT_FALSE(valid_field(":path", "x"));
  EXPECT_FALSE(valid_field("x", "a\r\nb: c"));
  EXPECT_FALSE(valid_field("x", "a\nb"));
  EXPECT_FALSE(valid_field("x", "a\rb"));
  EXPECT_FALSE(valid_field("x", std::string_view("a\0b", 3)));
  EXPECT_FALSE(valid_field("x", "a\x7f"));
  EXPECT_FALSE(valid_field("x", " a"));
  EXPECT_FALSE(valid_field("x", "a\t"));
}

TEST(Message, AHeadIsAViewOfItWithTheLengthOfItsBody) {
  const Request request{.method = "PUT",
                        .scheme = "https",
                        .authority = "h:1",
                        .target = "/x?y",
                        .fields = {{"a", "b"}},
                        .body = "12345"};
  const Head head = request.head();
  EXPECT_TRUE(head.is_request());
  EXPECT_EQ(head.content_length, 5U);
  const Request again = Request::from(head);
  EXPECT_EQ(again.method + again.scheme + again.authority + again.target, "PUThttpsh:1/x?y");
  EXPECT_EQ(again.fields.find("A"), "b");
  EXPECT_EQ(again.body, "");
}

TEST(Message, AnAnswersHeadHasItsStatusAndFields) {
  const Response response{.status = 404, .fields = {{"a", "b"}}, .body = "no", .trailers = {}};
  EXPECT_FALSE(response.head().is_request());
  EXPECT_EQ(response.head().content_length, 2U);
  const Response again = Response::from(response.head());
  EXPECT_EQ(again.status, 404);
  EXPECT_EQ(again.fields.find("a"), "b");
}

TEST(Head, NamesHaveNoCaseAndTheFirstOfThemCounts) {
  const Field fields[] = {{"A", "1"}, {"a", "2"}};
  EXPECT_EQ(find(fields, "a"), "1");
  EXPECT_EQ(find(fields, "b"), std::nullopt);
  EXPECT_FALSE(same_name("ab", "a"));
}

}  // namespace
}  // namespace damper::http
