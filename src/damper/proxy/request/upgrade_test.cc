#include "damper/proxy/request/upgrade.h"

#include <gtest/gtest.h>

#include <vector>

namespace damper::proxy {
namespace {

using Allowed = std::vector<std::string>;

TEST(Upgrade, EveryProtocolThatIsOfferedHasToBeAllowed) {
  const Allowed one = {"websocket"};
  EXPECT_TRUE(may_upgrade("websocket", one));
  EXPECT_TRUE(may_upgrade("WebSocket", one));
  EXPECT_TRUE(may_upgrade("websocket/13", one));
  EXPECT_FALSE(may_upgrade("websocket, foo", one));
  EXPECT_FALSE(may_upgrade("foo, websocket", one));
  EXPECT_FALSE(may_upgrade("foo", one));
  EXPECT_FALSE(may_upgrade("websocketx", one));
  EXPECT_FALSE(may_upgrade("websocket", Allowed{}));
}

TEST(Upgrade, AStarAllowsAll) { EXPECT_TRUE(may_upgrade("foo, bar/2", Allowed{"*"})); }

TEST(Upgrade, AFieldWithoutAProtocolIsNeverAllowed) {
  for (const std::string_view offered : {"", ",", " , ,"}) {
    EXPECT_FALSE(may_upgrade(offered, Allowed{})) << offered;
    EXPECT_FALSE(may_upgrade(offered, Allowed{"websocket"})) << offered;
    EXPECT_FALSE(may_upgrade(offered, Allowed{"*"})) << offered;
  }
}

}  // namespace
}  // namespace damper::proxy
