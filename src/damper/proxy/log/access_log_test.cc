#include "damper/proxy/log/access_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/random.h"

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;

constexpr UnixTime kNow{std::chrono::sys_days(std::chrono::year(2026) / 11 / 5) + 3h + 4min + 5s +
                        67ms};

constexpr std::string_view kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

std::string line(const AccessRecord& record, const AccessLayout& layout = {}) {
  std::string out;
  append_access_line(out, record, layout, kNow);
  return out;
}

AccessRecord good() {
  return {
      .method = "GET", .target = "/", .status = 200, .verdict = Verdict::success, .attempts = 1};
}

// Both ends of a pipe that nobody waits for.
struct Pipe {
  Pipe() { EXPECT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  std::string read() const {
    std::string all(1 << 20, '\0');
    const ssize_t count = ::read(ends[0], all.data(), all.size());
    all.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return all;
  }
  int ends[2];
};

TEST(AccessLog, ALineHasAllThatIsKnown) {
  EXPECT_EQ(line({.method = "GET",
                  .authority = "shop.example",
                  .target = "/x?y",
                  .route = "shop",
                  .cluster = "shops",
                  .replica = "10.0.0.1:9000",
                  .traceparent = kParent,
                  .client = "10.1.2.3",
                  .protocol = "HTTP/2",
                  .user_agent = "curl \"8\"",
                  .request_id = "id-1",
                  .trace = {10, 11},
                  .status = 503,
                  .grpc_status = 14,
                  .verdict = Verdict::budget_spent,
                  .attempts = 2,
                  .bytes_in = 7,
                  .bytes_out = 21,
                  .took = 12'345'678ns,
                  .upstream_head = 11ms}),
            "{\"time\":\"2026-11-05T03:04:05.067Z\",\"method\":\"GET\",\"path\":\"/x?y\","
            "\"authority\":\"shop.example\",\"route\":\"shop\",\"cluster\":\"shops\","
            "\"replica\":\"10.0.0.1:9000\",\"status\":503,\"grpc_status\":14,"
            "\"verdict\":\"budget_spent\","
            "\"attempts\":2,\"duration_ms\":12.345,\"upstream_ms\":11.000,\"bytes_in\":7,"
            "\"bytes_out\":21,\"traceparent\":"
            "\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\",\"closed\":\"finished\","
            "\"client\":\"10.1.2.3\",\"protocol\":\"HTTP/2\",\"user_agent\":\"curl \\\"8\\\"\","
            "\"request_id\":\"id-1\",\"trace_id\":\"000000000000000a000000000000000b\"}\n");
}

constexpr std::uint32_t bit(AccessField field) { return 1U << static_cast<unsigned>(field); }

TEST(AccessLog, HasTheFieldsThatAreChosen) {
  const AccessLayout layout{.fields = bit(AccessField::status) | bit(AccessField::path) |
                                      bit(AccessField::referer)};
  AccessRecord record = good();
  EXPECT_EQ(line(record, layout), "{\"path\":\"/\",\"status\":200}\n");
  const http::Field referer{"Referer", "https://x/"};
  record.fields = {&referer, 1};
  EXPECT_EQ(line(record, layout), "{\"path\":\"/\",\"status\":200,\"referer\":\"https://x/\"}\n");
  EXPECT_EQ(line(record, {.fields = bit(AccessField::route)}), "{}\n");
}

TEST(AccessLog, TheCombinedFormatIsThatOfApache) {
  AccessRecord record = good();
  record.client = "10.1.2.3";
  record.protocol = "HTTP/1.1";
  record.bytes_out = 21;
  record.user_agent = "curl/8.0";
  const AccessLayout combined{.format = AccessFormat::combined};
  EXPECT_EQ(line(record, combined),
            "10.1.2.3 - - [05/Nov/2026:03:04:05 +0000] \"GET / HTTP/1.1\" 200 21 \"-\" "
            "\"curl/8.0\"\n");
  // Refused by the codec.
  EXPECT_EQ(line({.client = "::1", .status = 400}, combined),
            "::1 - - [05/Nov/2026:03:04:05 +0000] \"-\" 400 0 \"-\" \"-\"\n");
}

TEST(AccessLog, NoLineOfTheCombinedFormatCanBeForged) {
  AccessRecord record = good();
  record.client = "10.1.2.3";
  record.protocol = "HTTP/2";
  record.target = "/\" 200 0\n1.2.3.4";
  record.user_agent = "\\x22\x80\x7f";
  const http::Field referer{"referer", "a\"\r\n"};
  record.fields = {&referer, 1};
  EXPECT_EQ(
      line(record, {.format = AccessFormat::combined}),
      "10.1.2.3 - - [05/Nov/2026:03:04:05 +0000] \"GET /\\x22 200 0\\x0a1.2.3.4 HTTP/2\" 200 0 "
      "\"a\\x22\\x0d\\x0a\" \"\\x5cx22\\x80\\x7f\"\n");
}

TEST(AccessLog, WhateverAClientSendsALineIsALine) {
  const std::string said = line({.method = "G\"\\", .target = "/\n\x80", .verdict = Verdict::none});
  EXPECT_EQ(said,
            "{\"time\":\"2026-11-05T03:04:05.067Z\",\"method\":\"G\\\"\\\\\",\"path\":"
            "\"/\\u000a\\u0080\",\"attempts\":0,\"duration_ms\":0.000,\"bytes_in\":0,"
            "\"bytes_out\":0,\"closed\":\"finished\"}\n");
}

TEST(AccessLog, ATextIsCutBeforeAnEscapeThatHasNoRoom) {  // Invariant (2).
  const AccessLayout path{.fields = bit(AccessField::path)};
  EXPECT_EQ(line({.target = std::string(2000, 'x')}, path),
            "{\"path\":\"" + std::string(kLongestPath, 'x') + "\"}\n");
  const std::string before(kLongestPath - 5, 'x');  // Of six bytes.
  EXPECT_EQ(line({.target = before + "\x80y"}, path), "{\"path\":\"" + before + "\"}\n");
  EXPECT_EQ(line({.target = before.substr(1) + "\x80y"}, path),
            "{\"path\":\"" + before.substr(1) + "\\u0080\"}\n");
  EXPECT_EQ(line({.target = before + "xxxx\"y"}, path), "{\"path\":\"" + before + "xxxx\"}\n");
}

TEST(AccessLog, ATraceparentThatIsNoneIsNotWritten) {  // Invariant (3).
  const AccessLayout parent{.fields = bit(AccessField::traceparent)};
  EXPECT_EQ(line({.traceparent = kParent}, parent),
            "{\"traceparent\":\"" + std::string(kParent) + "\"}\n");
  EXPECT_EQ(line({.traceparent = "00-0-0-01"}, parent), "{}\n");
  EXPECT_EQ(line({.traceparent = std::string(200, '\xff')}, parent), "{}\n");
}

// The members of a line of JSON, strictly: an object of numbers and of texts in printable ASCII.
std::optional<std::map<std::string, std::string>> find_members(std::string_view text) {
  std::map<std::string, std::string> members;
  const auto take = [&text](std::string_view part) {
    const bool begins = text.starts_with(part);
    if (begins) text.remove_prefix(part.size());
    return begins;
  };
  const auto take_text = [&](std::string& into) {
    if (!take("\"")) return false;
    while (!text.empty() && !take("\"")) {
      const bool escape = take("\\");
      if (text.empty() || text[0] < ' ' || text[0] > '~') return false;
      if (escape && text[0] == 'u') {
        if (text.find_first_not_of("0123456789abcdef", 1) < 5) return false;
        into += static_cast<char>(std::stoi(std::string(text.substr(1, 4)), nullptr, 16));
        text.remove_prefix(5);
        continue;
      }
      if (escape && text[0] != '"' && text[0] != '\\') return false;
      into += text[0];
      text.remove_prefix(1);
    }
    return true;
  };
  if (!take("{")) return std::nullopt;
  while (!take("}\n")) {
    std::string key;
    if ((!members.empty() && !take(",")) || !take_text(key) || !take(":")) return std::nullopt;
    std::string& value = members[key];
    if (text.starts_with('"')) {
      if (!take_text(value)) return std::nullopt;
      continue;
    }
    const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    if (digits == 0) return std::nullopt;
    value = text.substr(0, digits);
    text.remove_prefix(digits);
  }
  return text.empty() ? std::optional(members) : std::nullopt;
}

// A text of any bytes, often too long and all of one kind.
std::string hostile(Random& random) {
  std::string text(random.bits() % 3 == 0 ? 3000 : random.bits() % 300, '\0');
  constexpr std::array<char, 6> kKinds = {'\xff', '"', '\\', '\n', '\0', 'x'};
  const char one = kKinds[random.bits() % kKinds.size()];
  const bool mixed = random.bits() % 2 == 0;
  for (char& c : text) c = mixed ? static_cast<char>(random.bits() % 256) : one;
  return text;
}

TEST(AccessLog, NoClientCanMakeALineThatAPipeDoesNotTake) {  // Invariants (1), (2).
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  std::size_t longest = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    std::array<std::string, 10> texts;
    for (std::string& text : texts) text = seed == 0 ? std::string(3000, '\xff') : hostile(random);
    const http::Field referer{"referer", texts[9]};
    AccessRecord record{.method = texts[0],
                        .authority = texts[1],
                        .target = texts[2],
                        .route = texts[3],
                        .cluster = texts[4],
                        .replica = texts[5],
                        .traceparent = random.bits() % 2 == 0 ? kParent : texts[6],
                        .client = "2001:db8:1111:2222:3333:4444:5555:6666",
                        .protocol = "HTTP/1.1",
                        .user_agent = texts[7],
                        .request_id = texts[8],
                        .trace = {kMost, kMost},
                        .fields = {&referer, 1},
                        .status = 503,
                        .grpc_status = 99,
                        .verdict = Verdict::deadline_too_close,
                        .ended = http::CloseReason::out_of_descriptors,
                        .attempts = std::numeric_limits<std::uint32_t>::max(),
                        .bytes_in = kMost,
                        .bytes_out = kMost,
                        .took = kForever,
                        .upstream_head = kForever};
    AccessLayout layout;
    if (seed % 2 == 1) layout.fields = static_cast<std::uint32_t>(random.bits()) & layout.kAll;
    const std::string json = line(record, layout);
    longest = std::max(longest, json.size());
    const auto members = find_members(json);
    ASSERT_TRUE(members) << "seed " << seed << ": " << json;
    const auto client = members->find("client");
    ASSERT_EQ(client != members->end(), layout.has(AccessField::client)) << "seed " << seed;
    if (client != members->end()) {
      ASSERT_EQ(client->second, record.client) << "seed " << seed;
    }
    const std::string combined = line(record, {.format = AccessFormat::combined});
    longest = std::max(longest, combined.size());
    ASSERT_TRUE(combined.starts_with(std::string(record.client) + " - - [")) << "seed " << seed;
    ASSERT_EQ(combined.find('\n'), combined.size() - 1) << "seed " << seed;
    ASSERT_EQ(std::count(combined.begin(), combined.end(), '"'), 6) << "seed " << seed;
  }
  EXPECT_LE(longest, static_cast<std::size_t>(PIPE_BUF));
  EXPECT_GT(longest, 3000U);  // The property was tried.
}

TEST(AccessLog, TheModeSaysWhatIsWorthALine) {
  AccessRecord record = good();
  EXPECT_TRUE(is_logged(AccessLog::all, record));
  EXPECT_FALSE(is_logged(AccessLog::failures, record));
  record.verdict = Verdict::permanent;
  record.status = 404;
  EXPECT_FALSE(is_logged(AccessLog::failures, record));
  record.status = 501;
  EXPECT_TRUE(is_logged(AccessLog::failures, record));
  record = good();
  record.ended = http::CloseReason::reset;
  EXPECT_TRUE(is_logged(AccessLog::failures, record));
  record = good();
  record.verdict = Verdict::shed;
  EXPECT_TRUE(is_logged(AccessLog::failures, record));
  EXPECT_FALSE(is_logged(AccessLog::off, record));
}

TEST(AccessLog, IsWrittenASecondLaterOrWhenItGoes) {
  http::Loop loop;
  const Pipe pipe;
  {
    AccessLogWriter log(loop, pipe.ends[1], AccessLog::all);
    log.on_request_over(good());
    log.on_request_over(good());
    EXPECT_EQ(pipe.read(), "");
    EXPECT_EQ(log.lines(), 2u);
  }
  const std::string text = pipe.read();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(AccessLog, WhatDoesNotFitIsCounted) {  // Invariants (1), (2).
  http::Loop loop;
  const Pipe pipe;
  AccessLogWriter log(loop, pipe.ends[1], AccessLog::all);
  const std::string path(1000, 'x');
  AccessRecord record = good();
  record.target = path;
  std::uint64_t told = 0;
  while (log.dropped() < 5) {
    log.on_request_over(record);
    ASSERT_LT(++told, 1000u);
  }
  EXPECT_EQ(log.lines() + log.dropped(), told);
  log.use(pipe.ends[1]);  // A pipe has less room than the buffer: the rest waits.
  const std::string text = pipe.read();
  EXPECT_GT(text.size(), 10'000u);
  log.on_request_over(record);
  EXPECT_EQ(log.dropped(), 5u);
}

TEST(AccessLog, AFloodOfFailedHandshakesDoesNotFloodTheLog) {  // Invariant (3).
  http::Loop loop;
  const Pipe pipe;
  const AccessRecord failed{.client = "10.1.2.3", .ended = http::CloseReason::handshake_failed};
  const AccessRecord refused{.client = "10.1.2.3", .protocol = "HTTP/1.1", .status = 400};
  AccessLogWriter log(loop, pipe.ends[1], AccessLog::all);
  const auto burst = static_cast<std::uint64_t>(AccessLogWriter::kConnections.burst);
  for (std::uint64_t i = 0; i < 10 * burst; ++i) log.on_request_refused(failed);
  EXPECT_EQ(log.lines(), burst);
  EXPECT_EQ(log.suppressed(), 9 * burst);
  log.on_request_refused(refused);  // It has its protocol.
  EXPECT_EQ(log.lines(), burst + 1);
  log.set_mode(AccessLog::off);
  log.on_request_refused(failed);
  EXPECT_EQ(log.suppressed(), 9 * burst);
}

// It would not come back from a write, were it not for asking before.
TEST(AccessLog, ABlockingPipeThatNobodyReadsHoldsNothingUp) {
  http::Loop loop;
  const Pipe pipe;
  ASSERT_EQ(::fcntl(pipe.ends[1], F_SETFL, 0), 0);  // As standard output is.
  const std::string path(1000, 'x');
  AccessRecord record = good();
  record.target = path;
  AccessLogWriter log(loop, pipe.ends[1], AccessLog::all);
  AccessLogWriter other(loop, pipe.ends[1], AccessLog::all);
  std::uint64_t told = 0;
  while (log.dropped() == 0) {  // The pipe is full, and then the buffer.
    log.on_request_over(record);
    if (++told % 10 == 0) log.use(pipe.ends[1]);
    ASSERT_LT(told, 1000u);
  }
  EXPECT_EQ(log.lines() + log.dropped(), told);
  other.on_request_over(record);
  other.use(pipe.ends[1]);
  std::string text;
  for (std::string more = pipe.read(); !more.empty(); more = pipe.read()) {  // Somebody reads.
    text += more;
    log.use(pipe.ends[1]);
  }
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), static_cast<std::int64_t>(log.lines()));
  EXPECT_TRUE(text.starts_with('{') && text.ends_with("}\n"));
}

TEST(AccessLog, APipeTakesTheLineOfAHostileRequest) {
  http::Loop loop;
  const Pipe pipe;
  const std::string much(1000, '\xff');  // Six bytes each.
  AccessRecord record = good();
  record.target = record.user_agent = record.request_id = record.authority = much;
  {
    AccessLogWriter log(loop, pipe.ends[1], AccessLog::all);
    log.on_request_over(record);
    EXPECT_EQ(log.dropped(), 0u);
  }
  EXPECT_TRUE(pipe.read().ends_with("}\n"));
}

}  // namespace
}  // namespace damper::proxy
