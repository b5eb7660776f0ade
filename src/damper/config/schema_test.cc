#include "damper/config/schema.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "damper/config/schema_testing.h"

namespace damper::config {
namespace {

using namespace std::chrono_literals;

struct Thing {
  Duration time{5};
  std::int32_t attempts = 3;
  double rate = 0;
  Percent share{10};
  std::vector<std::int32_t> list{1, 2};
  std::optional<double> bound{};
  std::string word = "w";
  struct Part {
    std::int32_t size = 7;
    bool fast = true;
  };
  std::optional<Part> part{};
  std::vector<std::string> items{};
};

const Schema<Thing>& schema() {
  static const Schema<Thing> kSchema = [] {
    Schema<Thing> s("thing");
    s.key<DAMPER_FIELD(time)>("time", form::duration(kTick, 1h), "Time.");
    s.key<DAMPER_FIELD(attempts)>("retries", form::integer(0, 9).with_offset(1), "Retries.");
    s.key<DAMPER_FIELD(rate)>("rate", form::rate(1, 9000), "Rate.").unset_at_zero = true;
    s.key<DAMPER_FIELD(share)>("share", form::percent(0, 10'000), "Share.");
    s.key<DAMPER_FIELD(list)>("list", form::of(Kind::wholes, 0, 9), "List.");
    s.key<DAMPER_FIELD(bound)>("bound", form::number(0, 9), "Bound.");
    s.key<DAMPER_FIELD(word)>("word", {.kind = Kind::text}, "Word.").required = true;
    s.key<DAMPER_FIELD(part->size)>("part.size", form::integer(1, 9), "Size | bytes.");
    s.key<DAMPER_FIELD(part->fast)>("part.fast", form::kBoolean, "Fast.");
    s.optional_section<DAMPER_FIELD(part)>("part", "A part.");
    s.section({.path = "items",
               .doc = "Items.",
               .accepted = "a list of words",
               .items = Section::Items::list,
               .read = [](Reader& reader, const Section& section, const Tree& word,
                          const Tree& value, void* owner) {
                 return reader.read_list(section, word, value, 2, [&](const Tree& item) {
                   static_cast<Thing*>(owner)->items.push_back(item.text);
                   return std::optional<Error>();
                 });
               }});
    s.alias("envoy_time", "time", "envoy_time is read as time");
    s.alias("envoy", "part");
    s.alias("envoy.bytes", "part.size");
    return s;
  }();
  return kSchema;
}

// The thing that the text sets, printed on one line, or the error.
std::string read(std::string_view text, std::vector<Note>* notes = nullptr) {
  Thing thing;
  Reader reader("t.yaml", notes);
  const auto tree = parse_yaml(text, "t.yaml");
  if (auto wrong = reader.read(schema(), *tree, {1, 1}, "it", thing)) return to_string(*wrong);
  std::string out = schema().print(thing, 0);
  for (char& c : out) c = c == '\n' ? ';' : c;
  return out;
}

TEST(Schema, EachRowIsSound) { expect_sound(schema()); }

TEST(Schema, TheReaderFillsTheStructAndThePrinterShowsIt) {
  EXPECT_EQ(read("{word: x}"),
            "time: 5ns;retries: 2;share: 10;list: [1, 2];word: \"x\";part: off;");
  EXPECT_EQ(read("{word: x, rate: 2.5, bound: 1, retries: 0, list: [9], part: {size: 8}}"),
            "time: 5ns;retries: 0;rate: 2.5;share: 10;list: [9];bound: 1;word: \"x\";part:;  size: "
            "8;  fast: true;");
  EXPECT_EQ(read("{word: x, part: on}").substr(54), "part:;  size: 7;  fast: true;");
}

TEST(Schema, EachErrorIsOneSentenceWithItsPlace) {
  const std::string accepted =
      "(accepted: time, retries, rate, share, list, bound, word, part, items, envoy_time, envoy)";
  EXPECT_EQ(read("[]"), "t.yaml:1:1: it must be a map of keys " + accepted);
  EXPECT_EQ(read("tme: 1s"),
            "t.yaml:1:1: unknown key \"tme\" in it; did you mean time? " + accepted);
  EXPECT_EQ(read("time: 2h"),
            "t.yaml:1:7: time must be a duration from 1ns to 1h, such as 250ms, 2s or 1.5m, not "
            "\"2h\"");
  EXPECT_EQ(read("time:"),
            "t.yaml:1:1: time must be a duration from 1ns to 1h, such as 250ms, 2s or 1.5m, not "
            "nothing");
  EXPECT_EQ(read("list: [1, 10]").substr(0, 17), "t.yaml:1:11: list");
  EXPECT_EQ(read("part: yes"), "t.yaml:1:7: part must be on, off or a map of keys, not \"yes\"");
  EXPECT_EQ(read("part: {siz: 1}"),
            "t.yaml:1:8: unknown key \"siz\" in part; did you mean size? (accepted: size, fast)");
  EXPECT_EQ(read("part: []"), "t.yaml:1:1: part must be a map of keys (accepted: size, fast)");
  EXPECT_EQ(read("time: 1s"), "t.yaml:1:1: it needs the key word");
  EXPECT_EQ(read("items: x"), "t.yaml:1:1: items must be a list of words");
  EXPECT_EQ(read("items: [a, b, c]"), "t.yaml:1:1: items has more than 2 entries");
}

TEST(Schema, AnAliasIsTheSameKeyAndMayHaveANote) {
  std::vector<Note> notes;
  EXPECT_EQ(read("{word: x, envoy_time: 9ns}", &notes).substr(0, 10), "time: 9ns;");
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(to_string(notes[0]), "t.yaml:1:11: envoy_time is read as time");
  EXPECT_EQ(read("{word: x, envoy: {bytes: 2}}").substr(54), "part:;  size: 2;  fast: true;");
  EXPECT_EQ(read("envoy: {size: 2}"),
            "t.yaml:1:9: unknown key \"size\" in envoy (accepted: bytes)");
  EXPECT_EQ(read("time: 1s\nenvoy_time: 1s"),
            "t.yaml:2:1: envoy_time is given twice, first in line 1");
  EXPECT_EQ(read("part: on\nenvoy: {bytes: 1}"),
            "t.yaml:2:1: part is given twice, first in line 1");
}

TEST(Schema, AStructIsHeldToTheBoundsOfItsRows) {
  Thing thing;
  EXPECT_EQ(schema().find_error(thing), std::nullopt);
  thing.attempts = 11;
  EXPECT_EQ(schema().find_error(thing), "retries must be a whole number from 0 to 9, not 10");
}

TEST(Schema, TheReferenceHasARowForEachKey) {
  EXPECT_EQ(schema().reference("###", " of it"),
            "| key | default | accepted | |\n|---|---|---|---|\n"
            "| `time` | `5ns` | duration from 1ns to 1h | Time. |\n"
            "| `retries` | `2` | whole number from 0 to 9 | Retries. |\n"
            "| `rate` |  | number from 0.001 to 9, with at most three decimals | Rate. |\n"
            "| `share` | `10` | percentage from 0 to 100 with at most two decimals | Share. |\n"
            "| `list` | `[1, 2]` | list of at most 1000 whole numbers from 0 to 9 | List. |\n"
            "| `bound` |  | number from 0 to 9 | Bound. |\n"
            "| `word` | required | a text of at most 1000 characters | Word. |\n"
            "| `items` |  | a list of words | Items. |\n"
            "\n### part of it\n\nA part. Disabled by default; `on` enables it with these "
            "defaults.\n\n"
            "| key | default | accepted | |\n|---|---|---|---|\n"
            "| `size` | `7` | whole number from 1 to 9 | Size \\| bytes. |\n"
            "| `fast` | `true` | true or false | Fast. |\n");
}

TEST(Schema, TheJsonSchemaHasAPropertyForEachWord) {
  const std::string json = json_schema("A thing", {&schema()});
  for (const std::string_view part :
       {R"("title":"A thing","type":"object","properties":{"time":{"type":["string","integer"],)",
        R"("retries":{"type":"integer","minimum":0,"maximum":9,"description":"Retries."})",
        R"("part":{"anyOf":[{"enum":["on","off"]},{"type":"object","properties":{"size":{)",
        R"("envoy":{"anyOf":[{"enum":["on","off"]},{"type":"object","properties":{"bytes":{)",
        R"("items":{"type":"array","items":{},"description":"Items."})",
        R"("additionalProperties":false,"required":["word"],"$defs":{}})"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << '\n' << json;
  }
}

TEST(Schema, APathHasAParentAndALeaf) {
  EXPECT_EQ(parent("a.b.c"), "a.b");
  EXPECT_EQ(leaf("a.b.c"), "c");
  EXPECT_EQ(parent("a"), "");
  EXPECT_EQ(leaf("a"), "a");
}

}  // namespace
}  // namespace damper::config
