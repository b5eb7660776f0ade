#include "damper/observe/event_text.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::observe {
namespace {

constexpr WallTime kTime{std::chrono::milliseconds(1'794'708'787'123)};

std::string line(const engine::Event& event, LogFormat format) {
  std::string out;
  append_event(out, format, event, kTime);
  return out;
}

TEST(EventText, AnEventIsOneLineInEitherFormat) {
  const engine::Event event{.kind = engine::EventKind::breaker_opened,
                            .key = "billing",
                            .length = std::chrono::milliseconds(1500)};
  EXPECT_EQ(line(event, LogFormat::logfmt),
            "time=2026-11-15T02:13:07.123Z event=breaker_opened key=billing length=1.5s");
  EXPECT_EQ(line(event, LogFormat::json),
            R"({"time":"2026-11-15T02:13:07.123Z","event":"breaker_opened","key":"billing",)"
            R"("length":"1.5s"})");
}

TEST(EventText, ItIsAppendedWhateverTheEventHolds) {
  const std::string rubbish = std::string(3000, '\x1b') + "\n\xff\"";
  const engine::Event event{.kind = engine::EventKind::switch_flipped,
                            .key = rubbish,
                            .count = -1,
                            .length = kForever,
                            .detail = rubbish};
  for (const LogFormat format : {LogFormat::logfmt, LogFormat::json}) {
    const std::string text = line(event, format);
    EXPECT_LT(text.size(), kLongestEventText);
    for (const char c : text) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  }
}

TEST(EventText, WhatWasLeftOutIsCounted) {
  std::string out = "> ";
  append_suppressed(out, LogFormat::logfmt, 7, kTime);
  EXPECT_EQ(out, "> time=2026-11-15T02:13:07.123Z event=log_suppressed count=7");
}

TEST(EventText, ALengthHasSixDigitsOrNoEnd) {
  EXPECT_EQ(format_length(std::chrono::nanoseconds(1'234'567'891)), "1.235s");
  EXPECT_EQ(format_length(kForever), "forever");
}

}  // namespace
}  // namespace damper::observe
