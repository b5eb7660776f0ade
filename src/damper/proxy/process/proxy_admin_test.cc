#include "damper/proxy/process/proxy_admin.h"

#include <gtest/gtest.h>

#include "damper/proxy/admin/admin_client.h"
#include "damper/proxy/admin/event_feed.h"
#include "damper/proxy/admin/token_testing.h"
#include "damper/proxy/process/fake_proxy_testing.h"
#include "damper/proxy/process/listen_fds.h"

namespace damper::proxy {
namespace {

class ProxyAdminTest : public testing::Test {
 protected:
  ProxyAdminTest() { proxy_.admin() = {.port = 0, .token_file = first_.path()}; }

  void start() {
    ASSERT_EQ(admin_.bind(*proxy_.config(), std::nullopt), std::nullopt);
    ASSERT_EQ(admin_.start(proxy_, feed_, [] { return std::nullopt; }), std::nullopt);
  }
  // A configuration that differs by its token file.
  [[nodiscard]] ProxyConfig with_token(const std::string& file) const {
    ProxyConfig next = *proxy_.config();
    next.admin->token_file = file;
    return next;
  }
  [[nodiscard]] bool may_change(const TokenFile& token) const {
    auto client = AdminClient::open("127.0.0.1:" + std::to_string(*admin_.port()), token.path());
    return client && client->post("/reload");
  }

  const TokenFile first_{"0123456789abcdef"};
  const TokenFile second_{"fedcba9876543210"};
  FakeProxy proxy_;
  EventFeed feed_;
  ProxyAdmin admin_;
};

TEST_F(ProxyAdminTest, AnotherTokenFileCountsFromTheNextRequestOn) {
  start();
  EXPECT_TRUE(may_change(first_));
  EXPECT_FALSE(may_change(second_));
  const ProxyConfig next = with_token(second_.path());
  EXPECT_EQ(admin_.find_error(next), std::nullopt);
  EXPECT_EQ(admin_.use(next), std::nullopt);
  EXPECT_FALSE(may_change(first_));
  EXPECT_TRUE(may_change(second_));
}

TEST_F(ProxyAdminTest, AnotherTokenFileThatCannotBeReadChangesNothing) {
  start();
  const auto why = admin_.find_error(with_token("/nowhere/token"));
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("/nowhere/token"), std::string::npos) << *why;
  EXPECT_TRUE(admin_.use(with_token("/nowhere/token")));  // It went away after it was looked at.
  EXPECT_TRUE(may_change(first_));
  first_.remove();  // The one in force: whatever else is reloaded need not wait for it.
  EXPECT_EQ(admin_.find_error(with_token(first_.path())), std::nullopt);
}

TEST_F(ProxyAdminTest, WithoutAdminPagesNothingIsDone) {
  ProxyConfig none = *proxy_.config();
  none.admin.reset();
  EXPECT_EQ(admin_.bind(none, std::nullopt), std::nullopt);
  EXPECT_EQ(admin_.start(proxy_, feed_, {}), std::nullopt);
  EXPECT_EQ(admin_.port(), std::nullopt);
  EXPECT_EQ(admin_.fd(), std::nullopt);
  EXPECT_EQ(admin_.find_error(with_token("/nowhere/token")), std::nullopt);
  EXPECT_EQ(admin_.use(with_token("/nowhere/token")), std::nullopt);
}

TEST_F(ProxyAdminTest, TheSocketOfAnotherProcessIsSharedUntilItIsClosed) {
  ASSERT_EQ(admin_.bind(*proxy_.config(), std::nullopt), std::nullopt);
  const std::uint16_t port = *admin_.port();
  {
    ProxyAdmin next;
    ASSERT_EQ(next.bind(*proxy_.config(), admin_.fd()), std::nullopt);
    EXPECT_EQ(next.port(), port);
    admin_.close();
    EXPECT_TRUE(is_taken({"127.0.0.1", port}));
  }
  EXPECT_FALSE(is_taken({"127.0.0.1", port}));
}

}  // namespace
}  // namespace damper::proxy
