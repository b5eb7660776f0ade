#include "damper/lab/scenario/schema_field.h"

#include <gtest/gtest.h>

namespace damper::lab {
namespace {

using namespace std::chrono_literals;

struct Thing {
  Duration time{0};
  std::int32_t count = 3;
  bool yes = true;
  Loop loop = Loop::closed;
  double rate = 0;
  std::vector<std::int32_t> places{1, 2};
  std::optional<double> bound{};
  std::string word = "w";
  decide::Outcome answer = decide::Outcome::overload;
};

// What the key gets after it has set `value`.
Value turned(const SchemaKey<Thing>& key, Value value) {
  Thing thing;
  key.set(thing, std::move(value));
  return key.get(thing);
}

TEST(SchemaField, AFieldOfEachTypeGoesThereAndBack) {
  constexpr auto kTime = field<Thing, DAMPER_LAB_FIELD(time)>("t", duration(1ns, 1h), "");
  EXPECT_EQ(turned(kTime, std::int64_t{5}), Value(std::int64_t{5}));
  constexpr auto kCount = field<Thing, DAMPER_LAB_FIELD(count)>("c", integer(1, 9), "");
  EXPECT_EQ(kCount.get(Thing{}), Value(std::int64_t{3}));
  EXPECT_EQ(turned(kCount, std::int64_t{5}), Value(std::int64_t{5}));
  constexpr auto kYes = field<Thing, DAMPER_LAB_FIELD(yes)>("y", kBoolean, "");
  EXPECT_EQ(turned(kYes, std::int64_t{0}), Value(std::int64_t{0}));
  constexpr auto kLoop = field<Thing, DAMPER_LAB_FIELD(loop)>("l", choice(kLoopNames), "");
  EXPECT_EQ(turned(kLoop, std::int64_t{2}), Value(std::int64_t{2}));
  constexpr auto kRate = field<Thing, DAMPER_LAB_FIELD(rate)>("r", number(0, 9), "");
  EXPECT_EQ(turned(kRate, 2.5), Value(2.5));
  constexpr auto kPlaces = field<Thing, DAMPER_LAB_FIELD(places)>("p", {ValueKind::wholes}, "");
  EXPECT_EQ(turned(kPlaces, std::vector<double>{7}), Value(std::vector<double>{7}));
  constexpr auto kBound = field<Thing, DAMPER_LAB_FIELD(bound)>("b", number(0, 9), "");
  EXPECT_EQ(kBound.get(Thing{}), Value());
  EXPECT_EQ(turned(kBound, 0.0), Value(0.0));
  constexpr auto kWord = field<Thing, DAMPER_LAB_FIELD(word)>("w", kName, "");
  EXPECT_EQ(turned(kWord, std::string("x")), Value(std::string("x")));
}

TEST(SchemaField, ASaidFieldHasNoValueWhileItIsZero) {
  constexpr auto kRate = said_field<Thing, DAMPER_LAB_FIELD(rate)>("r", number(1, 9), "");
  EXPECT_EQ(kRate.get(Thing{}), Value());
  EXPECT_EQ(turned(kRate, 2.5), Value(2.5));
}

TEST(SchemaField, AnAnswerIsAnyOutcomeButSuccessAndCancelled) {
  constexpr auto kAnswer = answer<Thing, DAMPER_LAB_FIELD(answer)>("a", "");
  EXPECT_EQ(accepted(kAnswer.form),
            "one of transient, timeout, overload, unavailable, conflict, permanent");
  EXPECT_EQ(write_value(kAnswer.form, kAnswer.get(Thing{})), "overload");
  Thing thing;
  kAnswer.set(thing, std::int64_t{0});
  EXPECT_EQ(thing.answer, decide::Outcome::transient);
}

}  // namespace
}  // namespace damper::lab
