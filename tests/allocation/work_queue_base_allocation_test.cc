#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "counted_malloc.h"
#include "damper/queue/work_queue/work_queue.h"

namespace damper::queue {
namespace {

using namespace std::chrono_literals;

TEST(WorkQueueBaseAllocation, AnItemMakesNone) {
  WorkQueue<std::string> queue;
  std::vector<std::string> keys;
  for (int i = 0; i < 500; ++i) keys.push_back("deployments/web-" + std::to_string(10'000'000 + i));
  EXPECT_EQ(count([&] {
              for (const std::string& key : keys) queue.add(key);
              for (const std::string& key : keys) queue.add(key);  // Merged.
              for (std::size_t i = 0; i < keys.size(); ++i) {
                auto item = queue.get();
                queue.add(item.key());  // Marked.
                item.done();
              }
              while (auto item = queue.try_get()) item.done();
            }),
            0u);
}

TEST(WorkQueueBaseAllocation, ADelayedItemMakesNone) {
  WorkQueue<std::string> queue;
  std::vector<std::string> keys;
  for (int i = 0; i < 500; ++i) keys.push_back("deployments/web-" + std::to_string(10'000'000 + i));
  const auto round = [&] {
    for (const std::string& key : keys) queue.add_after(key, 1us);
    for (std::size_t i = 0; i < keys.size(); ++i) queue.get().done_after(1us);
    for (std::size_t i = 0; i < keys.size(); ++i) queue.get().done();
  };
  for (const std::string& key : keys) queue.add_after(key, 1h);  // As many as can be at once.
  for (const std::string& key : keys) queue.add(key);
  while (auto item = queue.try_get()) item.done();
  EXPECT_EQ(count(round), 0u);
}

TEST(WorkQueueBaseAllocation, ATimedGetMakesNone) {
  WorkQueue<std::string> queue;
  EXPECT_EQ(count([&] { (void)queue.get_for(1us); }), 0u);
}

}  // namespace
}  // namespace damper::queue
