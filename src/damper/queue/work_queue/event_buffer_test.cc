#include "damper/queue/work_queue/event_buffer.h"

#include <gtest/gtest.h>

namespace damper::queue {
namespace {

struct Heard final : engine::EventSink {
  void on_event(const engine::Event& event) noexcept override {
    text += std::string(event.key) + "/" + std::string(event.detail) + "/" +
            std::to_string(event.count) + ";";
  }
  std::string text;
};

TEST(EventBuffer, KeepsTheTextUntilItIsPassedOnOnce) {
  EventBuffer buffer;
  {
    const std::string key = "deployments/web-with-a-name-that-is-long";
    const std::string detail = "permanent";
    buffer.on_event({.kind = engine::EventKind::parked, .key = key, .count = 3, .detail = detail});
    buffer.on_event({.kind = engine::EventKind::first_failure, .key = "b", .count = 1});
  }
  EXPECT_FALSE(buffer.empty());
  Heard heard;
  dispatch(heard, buffer.take());
  EXPECT_EQ(heard.text, "deployments/web-with-a-name-that-is-long/permanent/3;b//1;");
  EXPECT_TRUE(buffer.empty());
  EXPECT_TRUE(buffer.take().empty());
}

}  // namespace
}  // namespace damper::queue
