#include "damper/webhooks/model/id.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <set>

namespace damper::webhooks {
namespace {

using std::chrono::milliseconds;

TEST(WebhookId, IsReadAsItWasWritten) {
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{31}, std::int64_t{1} << 62,
                                   std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(parse_id(kMessagePrefix, id_text(kMessagePrefix, Id{value})), Id{value});
  }
  EXPECT_EQ(id_text(kMessagePrefix, Id{32}), "msg_0000000000010");
}

TEST(WebhookId, RefusesWhatIsNotAnId) {
  for (const char* const text :
       {"", "msg_", "ep_0000000000010", "msg_000000000001", "msg_00000000000010",
        "msg_000000000001u", "msg_000000000001O", "msg_g000000000000", "msg_zzzzzzzzzzzzz"}) {
    EXPECT_FALSE(parse_id(kMessagePrefix, text)) << text;
  }
}

TEST(WebhookId, EachIsGreaterThanTheOneBeforeAlsoIfTheClockIsSetBack) {
  IdMaker maker(12345);
  UnixTime now{milliseconds(1'700'000'000'000)};
  Id last{};
  for (int i = 0; i < 1000; ++i) {
    if (i == 500) now -= milliseconds(60'000);
    const Id id = maker.next(now);
    EXPECT_GT(number(id), number(last));
    last = id;
  }
}

TEST(WebhookId, TwoProcessesHardlyMakeTheSameOne) {
  const UnixTime now{milliseconds(1'700'000'000'000)};
  std::set<Id> ids;
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    ids.insert(IdMaker(seed * 2654435761U).next(now));
  }
  EXPECT_GE(ids.size(), 99U);
}

TEST(Id, TheFirstIdOfATimeIsAfterAllEarlierOnes) {
  const UnixTime time{std::chrono::milliseconds(1'700'000'000'000)};
  EXPECT_GE(number(IdMaker(0).next(time)), number(first_id(time)));
  EXPECT_LT(number(IdMaker(0xffffffff).next(time - std::chrono::milliseconds(1))),
            number(first_id(time)));
  EXPECT_EQ(number(first_id(UnixTime{} - std::chrono::hours(1))), 0);
}

}  // namespace
}  // namespace damper::webhooks
