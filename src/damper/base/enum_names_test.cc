#include "damper/base/enum_names.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>

namespace damper {
namespace {

enum class Shape : std::uint8_t { round, square, flat };
inline constexpr EnumNames<Shape::flat> kShapeNames = {"round", "square", "flat"};
using Names = EnumNames<Shape::flat>;

// Invariant (1): the number of texts is the number of enumerators.
static_assert(std::is_constructible_v<Names, const char*, const char*, const char*>);
static_assert(!std::is_constructible_v<Names, const char*, const char*>);
static_assert(!std::is_constructible_v<Names, const char*, const char*, const char*, const char*>);
static_assert(Names::size() == 3);

TEST(EnumNames, GivesTheTextOfAnEnumerator) {
  EXPECT_EQ(kShapeNames[Shape::round], "round");
  EXPECT_EQ(kShapeNames[Shape::flat], "flat");
  EXPECT_EQ(kShapeNames[1], "square");
}

// Invariant (2)
TEST(EnumNames, FindsTheEnumeratorOfAText) {
  EXPECT_EQ(kShapeNames.find("round"), Shape::round);
  EXPECT_EQ(kShapeNames.find("flat"), Shape::flat);
  EXPECT_EQ(kShapeNames.find("Flat"), std::nullopt);
  EXPECT_EQ(kShapeNames.find(""), std::nullopt);
}

TEST(EnumNames, IsASpanOfTexts) {
  const std::span<const std::string_view> texts = kShapeNames;
  ASSERT_EQ(texts.size(), 3U);
  EXPECT_EQ(texts[2], "flat");
}

}  // namespace
}  // namespace damper
