#include "damper/observe/transition_log.h"

#include <gtest/gtest.h>

#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "damper/base/random.h"
#include "damper/base/text/utf8.h"
#include "damper/engine/dependency.h"

namespace damper::observe {
namespace {

using namespace std::chrono_literals;
using engine::Event;
using engine::EventKind;
using std::chrono::system_clock;

constexpr auto kNight =
    std::chrono::sys_days(std::chrono::year(2026) / 11 / 15) + 2h + 13min + 7s + 123456us;

// Keeps the lines, and stands at kNight until told otherwise.
struct Desk {
  [[nodiscard]] TransitionLog::Writer writer() {
    return [this](std::string_view line) { lines.emplace_back(line); };
  }
  [[nodiscard]] TransitionLog::WallClock clock() {
    return [this] { return now; };
  }
  [[nodiscard]] std::string last() const { return lines.empty() ? "" : lines.back(); }
  std::vector<std::string> lines;
  system_clock::time_point now = kNight;
};

std::string line_of(const Event& event, LogFormat format = LogFormat::logfmt) {
  Desk desk;
  TransitionLog log(desk.writer(), {.format = format}, desk.clock());
  log.on_event(event);
  EXPECT_EQ(desk.lines.size(), 1U);
  return desk.last();
}

TEST(TransitionLog, ALineHasTimeEventKeyAndWhatElseIsKnown) {
  EXPECT_EQ(line_of({.kind = EventKind::first_failure, .key = "billing", .detail = {}}),
            "time=2026-11-15T02:13:07.123Z event=first_failure key=billing\n");
  EXPECT_EQ(line_of({.kind = EventKind::repeated_failure,
                     .key = "billing",
                     .count = 100,
                     .length = 1500ms,
                     .detail = "retries off: db failover"}),
            "time=2026-11-15T02:13:07.123Z event=repeated_failure key=billing count=100 "
            "length=1.5s detail=\"retries off: db failover\"\n");
}

TEST(TransitionLog, JsonHasTheSameFields) {
  EXPECT_EQ(
      line_of({.kind = EventKind::first_failure, .key = "billing", .detail = {}}, LogFormat::json),
      R"({"time":"2026-11-15T02:13:07.123Z","event":"first_failure","key":"billing"})"
      "\n");
  EXPECT_EQ(line_of({.kind = EventKind::breaker_opened,
                     .key = "a\"b",
                     .count = -1,
                     .length = 250ms,
                     .detail = "x\ny"},
                    LogFormat::json),
            R"({"time":"2026-11-15T02:13:07.123Z","event":"breaker_opened","key":"a\"b",)"
            R"("count":-1,"length":"250ms","detail":"x\ny"})"
            "\n");
}

TEST(TransitionLog, EveryKindOfEventIsOneLineWithItsName) {  // Invariant (1).
  for (std::size_t i = 0; i < engine::kEventNames.size(); ++i) {
    const auto kind = static_cast<EventKind>(i);
    EXPECT_EQ(
        line_of({.kind = kind, .key = "db", .detail = {}}),
        "time=2026-11-15T02:13:07.123Z event=" + std::string(engine::name(kind)) + " key=db\n");
  }
}

TEST(TransitionLog, TheTimeIsTheWallClocksInUtcToTheMillisecond) {
  Desk desk;
  TransitionLog log(desk.writer(), {}, desk.clock());
  const auto shown = [&](auto time) {
    desk.now = std::chrono::time_point_cast<system_clock::duration>(time);
    log.on_event({.key = "db", .detail = {}});
    return desk.last().substr(5, 24);
  };
  using std::chrono::sys_days;
  using std::chrono::year;
  EXPECT_EQ(shown(sys_days(year(1970) / 1 / 1)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(shown(sys_days(year(1970) / 1 / 1) - 1ns), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(shown(sys_days(year(2024) / 2 / 29) + 24h - 1ns), "2024-02-29T23:59:59.999Z");
  EXPECT_EQ(shown(sys_days(year(2026) / 12 / 31) + 9h + 8min + 5s), "2026-12-31T09:08:05.000Z");
}

TEST(TransitionLog, ALengthHasTheDigitsThatSomebodyReads) {
  const auto shown = [](Duration length) {
    const std::string line = line_of({.key = "db", .length = length, .detail = {}});
    const std::size_t at = line.find("length=");
    return at == std::string::npos ? "" : line.substr(at + 7, line.size() - at - 8);
  };
  EXPECT_EQ(shown(0ns), "");
  EXPECT_EQ(shown(999'999ns), "999.999us");
  EXPECT_EQ(shown(512'345'678ns), "512.346ms");
  EXPECT_EQ(shown(1'234'567'891ns), "1.235s");
  EXPECT_EQ(shown(30min), "30m");
  EXPECT_EQ(shown(between(Instant{1000s}, kNever)), "forever");
  EXPECT_EQ(shown(kForever), "forever");
  EXPECT_EQ(shown(-5s), "-5s");
  EXPECT_EQ(shown(Duration::min()), "-9223372036854775.808us");
}

TEST(TransitionLog, AValueIsQuotedWhenItHasTo) {
  const auto key = [](std::string_view value) {
    const std::string line = line_of({.key = value, .detail = {}});
    return line.substr(line.find(" key=") + 5);
  };
  EXPECT_EQ(key("billing/v2:eu-1@x,y"), "billing/v2:eu-1@x,y\n");
  EXPECT_EQ(key(""), "\"\"\n");
  EXPECT_EQ(key("a b"), "\"a b\"\n");
  EXPECT_EQ(key("a=b"), "\"a=b\"\n");
  EXPECT_EQ(key("a\\b"), "\"a\\\\b\"\n");
  EXPECT_EQ(key("a\"b"), "\"a\\\"b\"\n");
  EXPECT_EQ(key("\xC3\xA9"), "\"\xC3\xA9\"\n");
  EXPECT_EQ(key("a\x7f"), "\"a\\u007f\"\n");
}

TEST(TransitionLog, AKeyCannotForgeASecondLine) {
  EXPECT_EQ(line_of({.kind = EventKind::first_failure,
                     .key = "db\ntime=2026-11-15T02:13:08.000Z event=breaker_closed",
                     .detail = {}}),
            "time=2026-11-15T02:13:07.123Z event=first_failure "
            "key=\"db\\ntime=2026-11-15T02:13:08.000Z event=breaker_closed\"\n");
  EXPECT_EQ(line_of({.kind = EventKind::first_failure, .key = "db\xFF\x1b[2J", .detail = {}}),
            "time=2026-11-15T02:13:07.123Z event=first_failure "
            "key=\"db\xEF\xBF\xBD\\u001b[2J\"\n");
}

TEST(TransitionLog, AnythingGivesOneCleanLineUnderTheLimit) {  // Invariant (1).
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    const auto bytes = [&] {
      std::string text(random.bits() % 3000, '\0');
      for (char& c : text) c = static_cast<char>(random.bits());
      return text;
    };
    const std::string key = bytes();
    const std::string detail = bytes();
    const Event event{.kind = EventKind::breaker_half_open,
                      .key = key,
                      .count = std::numeric_limits<std::int64_t>::min(),
                      .length = Duration::min(),
                      .detail = detail};
    for (const LogFormat format : {LogFormat::logfmt, LogFormat::json}) {
      const std::string line = line_of(event, format);
      ASSERT_LE(line.size(), TransitionLog::kLongestLine) << "seed " << seed;
      ASSERT_EQ(line.find('\n'), line.size() - 1) << "seed " << seed;
      std::string_view rest(line.data(), line.size() - 1);
      while (!rest.empty()) {
        const std::size_t length = text::utf8_length(rest);
        ASSERT_GT(length, 0U) << "seed " << seed;
        ASSERT_GE(static_cast<unsigned char>(rest.front()), 0x20) << "seed " << seed;
        rest.remove_prefix(length);
      }
    }
  }
}

TEST(TransitionLog, ALongPlainKeyIsCutToo) {
  const std::string line = line_of({.key = std::string(257, 'k'), .detail = {}});
  EXPECT_TRUE(line.ends_with(" key=\"" + std::string(253, 'k') + "...\"\n")) << line;
  EXPECT_TRUE(line_of({.key = std::string(256, 'k'), .detail = {}})
                  .ends_with("=" + std::string(256, 'k') + "\n"));
}

TEST(TransitionLog, WhatIsOverTheLimitOfASecondIsCountedAndSaidOnce) {  // Invariants (2), (3).
  Desk desk;
  TransitionLog log(desk.writer(), {.most_per_second = 3}, desk.clock());
  for (int i = 0; i < 10; ++i)
    log.on_event({.kind = EventKind::first_failure, .key = "db", .detail = {}});
  EXPECT_EQ(desk.lines.size(), 3U);
  EXPECT_EQ(log.suppressed(), 7U);
  desk.now += 876ms;  // 02:13:07.999, the same second.
  log.on_event({.kind = EventKind::first_failure, .key = "db", .detail = {}});
  EXPECT_EQ(desk.lines.size(), 3U);
  desk.now += 1ms;
  for (int i = 0; i < 3; ++i)
    log.on_event({.kind = EventKind::first_failure, .key = "db", .detail = {}});
  ASSERT_EQ(desk.lines.size(), 7U);  // One more: it does not count itself.
  EXPECT_EQ(desk.lines[3], "time=2026-11-15T02:13:08.000Z event=log_suppressed count=8\n");
  EXPECT_EQ(desk.lines[4], "time=2026-11-15T02:13:08.000Z event=first_failure key=db\n");
  EXPECT_EQ(log.suppressed(), 8U);
  log.flush();  // Written already: nothing to add.
  EXPECT_EQ(desk.lines.size(), 7U);
}

TEST(TransitionLog, WhatWasSuppressedLastIsSaidByFlushAndAtTheEnd) {  // Invariant (2).
  Desk desk;
  {
    TransitionLog log(desk.writer(), {.format = LogFormat::json, .most_per_second = 1},
                      desk.clock());
    for (int i = 0; i < 3; ++i) log.on_event({.key = "db", .detail = {}});
    log.flush();
    EXPECT_EQ(desk.last(),
              R"({"time":"2026-11-15T02:13:07.123Z","event":"log_suppressed","count":2})"
              "\n");
    log.on_event({.key = "db", .detail = {}});
    EXPECT_EQ(desk.lines.size(), 2U);
  }
  EXPECT_EQ(desk.lines.size(), 3U);
  EXPECT_NE(desk.last().find(R"("count":1})"), std::string::npos);
}

TEST(TransitionLog, AWallClockThatGoesBackDoesNotSilenceIt) {
  Desk desk;
  TransitionLog log(desk.writer(), {.most_per_second = 1}, desk.clock());
  log.on_event({.key = "db", .detail = {}});
  desk.now -= 1h;
  log.on_event({.key = "db", .detail = {}});
  EXPECT_EQ(desk.lines.size(), 2U);
}

TEST(TransitionLog, AWriterThatFailsLosesTheLineAndNothingElse) {  // Invariant (3).
  Desk desk;
  int calls = 0;
  TransitionLog log(
      [&](std::string_view line) {
        if (++calls == 1) throw std::runtime_error("disk full");
        if (calls == 2) throw std::bad_alloc();
        if (calls == 3) throw 3;
        desk.lines.emplace_back(line);
      },
      {}, desk.clock());
  for (int i = 0; i < 4; ++i) log.on_event({.key = "db", .detail = {}});
  EXPECT_EQ(log.dropped(), 3U);
  EXPECT_EQ(desk.lines.size(), 1U);
}

TEST(TransitionLog, WhatCouldNotBeSaidIsSaidLater) {
  Desk desk;
  bool broken = false;
  TransitionLog log(
      [&](std::string_view line) {
        if (broken) throw std::runtime_error("no reader");
        desk.lines.emplace_back(line);
      },
      {.most_per_second = 1}, desk.clock());
  for (int i = 0; i < 5; ++i) log.on_event({.key = "db", .detail = {}});
  broken = true;
  log.flush();
  desk.now += 1s;
  log.on_event({.key = "db", .detail = {}});
  broken = false;
  log.flush();
  EXPECT_EQ(desk.last(), "time=2026-11-15T02:13:08.123Z event=log_suppressed count=4\n");
  EXPECT_EQ(log.dropped(), 1U);
}

TEST(TransitionLog, ADependencysTransitionsAreLines) {
  Desk desk;
  TransitionLog log(desk.writer(), {}, desk.clock());
  engine::Dependency dependency("billing");
  dependency.report_to(&log);
  dependency.flip(admit::Switch::retries, {.off = true, .reason = "db failover"}, Instant{1s});
  EXPECT_EQ(desk.last(),
            "time=2026-11-15T02:13:07.123Z event=switch_flipped key=billing length=forever "
            "detail=\"retries off: db failover\"\n");
  dependency.report_to(nullptr);
}

TEST(TransitionLog, UnderContentionEachEventIsALineOrCounted) {  // Invariants (2) and (3).
  std::int64_t reads = 0;  // Under the log's lock, as the lines are.
  std::vector<std::string> lines;
  std::uint64_t said = 0;
  {
    TransitionLog log(
        [&](std::string_view line) {
          const std::size_t at = line.find("log_suppressed count=");
          if (at == std::string_view::npos) {
            lines.emplace_back(line);
          } else {
            said += std::stoull(std::string(line.substr(at + 21)));
          }
        },
        {.most_per_second = 10}, [&] { return kNight + std::chrono::seconds(++reads / 100); });
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
          const std::string key = "dependency " + std::to_string(t);
          for (int i = 0; i < 1000; ++i) log.on_event({.key = key, .count = i + 1, .detail = {}});
        });
      }
    }
    EXPECT_EQ(lines.size() + log.suppressed(), 4000U);
    EXPECT_EQ(lines.size(), 401U);  // 40 seconds with 10 lines each; the last event begins another.
    log.flush();
    EXPECT_EQ(said, log.suppressed());
  }
  for (const std::string& line : lines) {
    EXPECT_TRUE(line.starts_with("time=2026-11-15T02:13:") && line.ends_with('\n')) << line;
  }
}

TEST(TransitionLog, OptionsHaveBounds) {
  EXPECT_EQ(find_error(TransitionLogOptions{}), std::nullopt);
  EXPECT_EQ(find_error(TransitionLogOptions{.most_per_second = 10'000}), std::nullopt);
  EXPECT_EQ(find_error(TransitionLogOptions{.most_per_second = 0}),
            "most_per_second is 0; it must be from 1 to 10000");
  EXPECT_EQ(find_error(TransitionLogOptions{.most_per_second = 10'001}),
            "most_per_second is 10001; it must be from 1 to 10000");
  EXPECT_DEATH(TransitionLog({}), "check failed");
}

}  // namespace
}  // namespace damper::observe
