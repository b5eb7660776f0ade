#include "damper/proxy/process/descriptor_watch.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::proxy {
namespace {

struct Events final : engine::EventSink {
  void on_event(const engine::Event& event) noexcept override {
    text += std::string(event.kind.text()) + " ";
    length = event.length;
  }
  std::string text;
  Duration length{};
};

Instant at(int second) { return Instant{std::chrono::seconds(second)}; }

TEST(DescriptorWatch, OneEventForTheBeginAndOneForTheEnd) {
  Events events;
  DescriptorWatch watch(events);
  watch.look(0, at(0));
  EXPECT_EQ(events.text, "");
  watch.look(5, at(1));
  EXPECT_EQ(events.text, "out_of_descriptors ");
  watch.look(500, at(2));
  watch.look(501, at(4));
  watch.look(501, at(13));
  EXPECT_EQ(events.text, "out_of_descriptors ");
  watch.look(501, at(14));
  EXPECT_EQ(events.text, "out_of_descriptors descriptors_restored ");
  EXPECT_EQ(events.length, std::chrono::seconds(3));  // From 1 to 4.
  watch.look(501, at(100));
  watch.look(502, at(101));
  EXPECT_EQ(events.text, "out_of_descriptors descriptors_restored out_of_descriptors ");
}

}  // namespace
}  // namespace damper::proxy
