#include "damper/lab/world/slab.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "damper/base/random.h"

namespace damper::lab {
namespace {

TEST(Slab, AHandleNamesItsValueUntilItIsErased) {
  Slab<int> slab;
  const Handle handle = slab.insert(7);
  ASSERT_NE(slab.find(handle), nullptr);
  EXPECT_EQ(*slab.find(handle), 7);
  EXPECT_EQ(slab.size(), 1u);
  slab.erase(handle);
  EXPECT_EQ(slab.find(handle), nullptr);
  EXPECT_EQ(slab.size(), 0u);
}

TEST(Slab, AStaleHandleDoesNotNameWhoHasThePlaceNow) {  // Invariant 1.
  Slab<int> slab;
  const Handle old = slab.insert(1);
  slab.erase(old);
  const Handle now = slab.insert(2);
  EXPECT_EQ(now.index, old.index);
  EXPECT_NE(now, old);
  EXPECT_EQ(slab.find(old), nullptr);
  EXPECT_EQ(*slab.find(now), 2);
}

TEST(Slab, AHandleOfNothingNamesNothing) {
  Slab<int> slab;
  EXPECT_EQ(slab.find(Handle{}), nullptr);
  EXPECT_EQ(slab.find({0, 0}), nullptr);
  (void)slab.insert(1);
  EXPECT_EQ(slab.find(Handle{}), nullptr);
  EXPECT_EQ(slab.find({1023, 0}), nullptr);  // A place that is free.
  EXPECT_EQ(slab.find({1024, 0}), nullptr);  // One that there is not.
}

TEST(Slab, WhatIsNotThereCannotBeErased) {
  Slab<int> slab;
  const Handle handle = slab.insert(1);
  slab.erase(handle);
  EXPECT_DEATH(slab.erase(handle), "check failed");
  EXPECT_DEATH(slab.erase({}), "check failed");
}

TEST(Slab, AHandleSurvivesTheWayThroughAWord) {
  const Handle handle{0x12345678, 0x9abcdef0};
  EXPECT_EQ(handle.word(), 0x9abcdef012345678u);
  EXPECT_EQ(Handle::of(handle.word()), handle);
  EXPECT_EQ(Handle::of(Handle{}.word()), Handle{});
}

TEST(Slab, ValuesDoNotMove) {
  Slab<int> slab;
  std::vector<std::pair<Handle, int*>> all;
  for (int i = 0; i < 5000; ++i) {
    const Handle handle = slab.insert(i);
    all.emplace_back(handle, slab.find(handle));
  }
  for (int i = 0; i < 5000; ++i) {
    const auto& [handle, place] = all[static_cast<std::size_t>(i)];
    ASSERT_EQ(slab.find(handle), place);
    ASSERT_EQ(*place, i);
  }
}

TEST(Slab, WhatIsLeftIsDestroyedOnce) {
  const auto value = std::make_shared<int>(1);
  {
    Slab<std::shared_ptr<int>> slab;
    const Handle gone = slab.insert(value);
    for (int i = 0; i < 2000; ++i) (void)slab.insert(value);
    slab.erase(gone);
    EXPECT_EQ(value.use_count(), 2001);
  }
  EXPECT_EQ(value.use_count(), 1);
}

TEST(Slab, EachIsVisitedInTheOrderOfPlaces) {
  Slab<int> slab;
  std::vector<Handle> handles;
  for (int i = 0; i < 1500; ++i) handles.push_back(slab.insert(i));
  slab.erase(handles[3]);
  slab.erase(handles[1400]);
  std::vector<int> seen;
  slab.for_each([&](Handle handle, int& value) {
    EXPECT_EQ(slab.find(handle), &value);
    seen.push_back(value);
  });
  ASSERT_EQ(seen.size(), 1498u);
  EXPECT_EQ(seen[2], 2);
  EXPECT_EQ(seen[3], 4);
  EXPECT_EQ(seen.back(), 1499);
}

// Invariants 1 and 2, over many ways to come and go.
TEST(Slab, ComesAndGoesLikeAList) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Slab<std::uint64_t> slab;
    Slab<std::uint64_t> twin;
    std::vector<std::pair<Handle, std::uint64_t>> here;
    std::vector<Handle> gone;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      if (here.empty() || random.draw() < 0.6) {
        const Handle handle = slab.insert(i);
        ASSERT_EQ(twin.insert(i), handle);
        here.emplace_back(handle, i);
      } else {
        const std::size_t which = random.bits() % here.size();
        slab.erase(here[which].first);
        twin.erase(here[which].first);
        gone.push_back(here[which].first);
        here[which] = here.back();
        here.pop_back();
      }
    }
    ASSERT_EQ(slab.size(), here.size());
    for (const auto& [handle, value] : here) {
      ASSERT_NE(slab.find(handle), nullptr);
      ASSERT_EQ(*slab.find(handle), value);
    }
    for (const Handle handle : gone) ASSERT_EQ(slab.find(handle), nullptr);
  }
}

}  // namespace
}  // namespace damper::lab
