#include "damper/admit/criticality.h"

#include <gtest/gtest.h>

namespace damper::admit {
namespace {

TEST(Criticality, EveryClassHasItsWordTheMostCriticalFirst) {
  EXPECT_EQ(name(Criticality::critical_plus), "critical_plus");
  EXPECT_EQ(name(Criticality::critical), "critical");
  EXPECT_EQ(name(Criticality::sheddable_plus), "sheddable_plus");
  EXPECT_EQ(name(Criticality::sheddable), "sheddable");
  EXPECT_LT(Criticality::critical_plus, Criticality::critical);
  EXPECT_LT(Criticality::critical, Criticality::sheddable_plus);
  EXPECT_LT(Criticality::sheddable_plus, Criticality::sheddable);
  EXPECT_EQ(static_cast<std::size_t>(Criticality::sheddable) + 1, kCriticalities);
}

}  // namespace
}  // namespace damper::admit
