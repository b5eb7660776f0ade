#include "damper/webhooks/dispatch/directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "damper/base/random.h"

namespace damper::webhooks {
namespace {

constexpr std::array<const char*, 6> kPatterns = {"a.b", "a.c", "a.*", "b", "b.*", "c.d.e"};
constexpr std::array<const char*, 5> kTypes = {"a.b", "a.c", "b", "b.x", "c.d.e"};

[[nodiscard]] Endpoint random_endpoint(Random& random, std::int64_t id) {
  Endpoint endpoint{
      .id = Id{id}, .application = id % 2 == 0 ? "even" : "odd", .created = {}, .config = {}};
  const auto count = static_cast<int>(random.draw() * 4);
  for (int i = 0; i < count; ++i) {
    endpoint.config.types.emplace_back(
        kPatterns[static_cast<std::size_t>(random.draw() * kPatterns.size())]);
  }
  if (random.draw() < 0.3) endpoint.config.channels = {"x"};
  endpoint.config.disabled = random.draw() < 0.1;
  return endpoint;
}

// Endpoints are added, changed and removed; after each of it the index finds what a scan finds.
TEST(Directory, FindsTheEndpointsOfAMessageAsAScanDoes) {
  Random random(31);
  Directory directory;
  std::size_t found = 0;
  for (int step = 0; step < 2'000; ++step) {
    const auto id = static_cast<std::int64_t>(random.draw() * 40);
    if (random.draw() < 0.2) {
      directory.remove(Id{id});
    } else {
      directory.put(random_endpoint(random, id));
    }
    for (const char* const application : {"even", "odd", "none"}) {
      for (const char* const type : kTypes) {
        std::vector<Id> expected;
        for (const Endpoint* const endpoint : directory.endpoints_of(application)) {
          if (matches(endpoint->config, type, "x")) expected.push_back(endpoint->id);
        }
        ASSERT_EQ(directory.match(application, type, "x"), expected) << type << ", step " << step;
        found += expected.size();
      }
    }
  }
  EXPECT_GT(found, 10'000U);
  directory.remove_application("even");
  EXPECT_TRUE(directory.match("even", "a.b", "x").empty());
  EXPECT_FALSE(directory.match("odd", "a.b", "x").empty());
}

}  // namespace
}  // namespace damper::webhooks
