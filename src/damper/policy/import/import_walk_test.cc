#include "damper/policy/import/import_walk.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::policy {
namespace {

using namespace std::chrono_literals;

config::Tree tree_of(std::string_view text) {
  auto tree = config::parse_yaml(text, "f");
  EXPECT_TRUE(tree);
  return tree ? *std::move(tree) : config::Tree{};
}

std::string notes_of(ImportNotes& notes) {
  std::string text;
  for (const config::Note& note : notes.take()) text += to_string(note) + '\n';
  return text;
}

std::string error_of(const ImportNotes& notes) {
  return notes.error() ? to_string(*notes.error()) : "none";
}

TEST(ImportNotes, AreInTheOrderOfTheFileAndEqualOnesOnce) {  // Invariant (1).
  ImportNotes notes("f");
  notes.note({2, 9}, "c");
  notes.note({2, 1}, "b");
  notes.note({1, 5}, "a");
  notes.note({2, 1}, "b2");
  notes.note({2, 1}, "b");
  EXPECT_EQ(notes_of(notes), "f:1:5: a\nf:2:1: b\nf:2:1: b2\nf:2:9: c\n");
}

TEST(ImportNotes, ATopicIsNotedOnce) {
  ImportNotes notes("f");
  notes.note_once("x", {1, 1}, "first");
  notes.note_once("x", {2, 1}, "second");
  notes.note_once("y", {3, 1}, "other");
  EXPECT_EQ(notes_of(notes), "f:1:1: first\nf:3:1: other\n");
}

TEST(ImportNotes, TheErrorIsTheFirstInTheFile) {  // Invariant (2).
  ImportNotes notes("f");
  EXPECT_FALSE(notes.error());
  notes.fail({3, 1}, "late");
  notes.fail({1, 2}, "early");
  notes.fail({2, 2}, "middle");
  EXPECT_EQ(error_of(notes), "f:1:2: early");
}

TEST(Fields, EveryFieldIsTakenSkippedOrNotedOnce) {  // Invariant (1).
  const config::Tree tree = tree_of("a: 1\nb: {x: {y: 1}}\nc: 3\nd: 4\ne: ~\n");
  ImportNotes notes("f");
  Fields fields(tree, "it", notes);
  EXPECT_EQ(fields.integer("a")->value, 1);
  fields.skip({"c"});
  fields.leave("d", "no reason");
  fields.leave_rest();
  fields.leave_rest();
  EXPECT_EQ(notes_of(notes),
            "f:2:1: b of it has no equivalent and is left out\n"
            "f:4:1: d has no equivalent: no reason\n");
}

TEST(Fields, AFieldIsFoundInBothOfProtosSpellings) {
  const config::Tree tree = tree_of("numRetries: 1\nper_try_timeout: 2s\nconsecutive5xx: 3\n");
  ImportNotes notes("f");
  Fields fields(tree, "it", notes);
  EXPECT_EQ(fields.integer("num_retries")->value, 1);
  EXPECT_EQ(fields.duration("per_try_timeout")->value, 2s);
  EXPECT_EQ(fields.integer("consecutive_5xx")->value, 3);
  EXPECT_FALSE(fields.has("numretries"));
}

TEST(Fields, AFieldThatIsNullIsNotThere) {
  const config::Tree tree = tree_of("a: ~\n");
  ImportNotes notes("f");
  Fields fields(tree, "it", notes);
  EXPECT_FALSE(fields.has("a"));
  EXPECT_EQ(fields.take("a"), nullptr);
  EXPECT_EQ(fields.integer("a", 7).value, 7);
  EXPECT_EQ(fields.integer("a", 7).place, config::SourceLocation{});
  EXPECT_EQ(error_of(notes), "none");
}

TEST(Fields, AValueKnowsItsPlace) {
  const config::Tree tree = tree_of("a:  5\nb: true\n");
  ImportNotes notes("f");
  Fields fields(tree, "it", notes);
  EXPECT_EQ(fields.integer("a")->place, (config::SourceLocation{1, 5}));
  EXPECT_EQ(fields.place_of("a"), (config::SourceLocation{1, 1}));
  EXPECT_EQ(fields.place_of("z"), tree.place);
  EXPECT_TRUE(fields.is_true("b"));
  EXPECT_FALSE(fields.is_true("z"));
}

TEST(Fields, AValueOfAnotherKindIsAnError) {
  const auto error = [](std::string_view text, auto read) {
    const config::Tree tree = tree_of(text);
    ImportNotes notes("f");
    Fields fields(tree, "it", notes);
    read(fields);
    return error_of(notes);
  };
  const auto integer = [](Fields& f) { return f.integer("a").has_value(); };
  EXPECT_EQ(error("a: x", integer), "f:1:4: a must be a whole number, not \"x\"");
  EXPECT_EQ(error("a: -1", integer), "f:1:4: a must be a whole number, not \"-1\"");
  EXPECT_EQ(error("a: 99999999999999999999", integer),
            "f:1:4: a must be a whole number, not \"99999999999999999999\"");
  EXPECT_EQ(error("a: [1]", integer), "f:1:4: a must be a whole number");
  EXPECT_EQ(error("a: nan", [](Fields& f) { return f.number("a").has_value(); }),
            "f:1:4: a must be a number, not \"nan\"");
  EXPECT_EQ(error("a: -0.5", [](Fields& f) { return f.number("a").has_value(); }),
            "f:1:4: a must be a number, not \"-0.5\"");
  EXPECT_EQ(error("a: yes", [](Fields& f) { return f.boolean("a").has_value(); }),
            "f:1:4: a must be true or false, not \"yes\"");
  EXPECT_EQ(error("a: {}", [](Fields& f) { return f.text("a").empty(); }),
            "f:1:4: a must be a word");
  EXPECT_EQ(error("a: 1", [](Fields& f) { return f.list("a").empty(); }),
            "f:1:4: a must be a list, not \"1\"");
  EXPECT_EQ(error("a: 5", [](Fields& f) { return f.duration("a").has_value(); }),
            "f:1:4: a must be a duration such as 0.25s or 2s, not \"5\"");
  EXPECT_EQ(error("[a]", [](Fields& f) { return f.has("a"); }),
            "f:1:1: it must be a map of fields");
}

TEST(ForeignDuration, IsReadInEachSystemsForm) {
  const auto read = [](std::string_view text) { return find_foreign_duration(tree_of(text)); };
  EXPECT_EQ(read("0.25s"), 250ms);
  EXPECT_EQ(read("25ms"), 25ms);
  EXPECT_EQ(read("1h30m5s"), 90min + 5s);
  EXPECT_EQ(read("{seconds: 1, nanos: 5}"), 1s + 5ns);
  EXPECT_EQ(read("{nanos: 500000000}"), 500ms);
  EXPECT_EQ(read("0s"), 0s);
  for (const char* text : {"", "''", "5", "-1s", "s", "1x", "{}", "[1s]", "{days: 1}", "'1s '",
                           "{seconds: -1}", "{seconds: [1]}", "0.0000000001s", "1e9s"}) {
    EXPECT_EQ(read(text), std::nullopt) << text;
  }
}

TEST(ForeignDuration, WhatIsTooLongIsJustOverTheLongest) {
  const auto read = [](std::string_view text) { return find_foreign_duration(tree_of(text)); };
  EXPECT_EQ(read("720h"), kLongest);
  EXPECT_EQ(read("315576000000s"), kLongest + 1ns);
  EXPECT_EQ(read("720h1s"), kLongest + 1ns);
  EXPECT_EQ(read("{seconds: 9223372036854775807, nanos: 999999999}"), kLongest + 1ns);
}

TEST(RouteName, HasOnlyWhatANameMayHave) {
  EXPECT_EQ(as_route_name("backend/api/v1"), "backend/api/v1");
  EXPECT_EQ(as_route_name("GET /books/{id}.json"), "GET-/books/-id-.json");
  EXPECT_EQ(as_route_name("backend/"), "backend");
  EXPECT_EQ(as_route_name("a   b"), "a-b");
  EXPECT_EQ(as_route_name("\xff\n"), "-");
  EXPECT_EQ(as_route_name(""), "route");
  EXPECT_EQ(as_route_name(std::string(300, 'x')), std::string(100, 'x'));
}

}  // namespace
}  // namespace damper::policy
