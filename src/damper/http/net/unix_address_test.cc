#include "damper/http/net/unix_address.h"

#include <gtest/gtest.h>

#include <unistd.h>

namespace damper::http {
namespace {

std::string unix_error_of(const std::string& text) { return UnixAddress::parse(text).error(); }

TEST(UnixAddress, IsAPathOrAnAbstractName) {
  for (const std::string text : {"unix:/run/app.sock", "unix:@app"}) {
    const auto address = UnixAddress::parse(text);
    ASSERT_TRUE(address) << address.error();
    EXPECT_EQ(address->text(), text);
  }
  EXPECT_EQ(UnixAddress::parse("unix:/run/app.sock")->path(), "/run/app.sock");
  EXPECT_EQ(UnixAddress::parse("unix:@app")->path(), "");
}

TEST(UnixAddress, APathHasAtMost107Bytes) {
  EXPECT_TRUE(UnixAddress::parse("unix:/" + std::string(106, 'x')));
  EXPECT_EQ(unix_error_of("unix:/" + std::string(107, 'x')),
            "the path of a Unix socket has 108 bytes; it must have at most 107");
  EXPECT_EQ(unix_error_of("unix:run/app"), "after unix: stands an absolute path, or @ and a name");
  EXPECT_EQ(unix_error_of("unix:/"), "after unix: stands an absolute path, or @ and a name");
  EXPECT_EQ(unix_error_of("unix:/a b"),
            "the path of a Unix socket has a character that is not visible");
  EXPECT_EQ(unix_error_of("/run/app"), "it does not begin with unix:");
}

TEST(UnixAddress, IsFoundOfASocket) {
  const auto address = UnixAddress::parse("unix:@damper-test-" + std::to_string(::getpid()));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(fd, 0);
  EXPECT_FALSE(UnixAddress::of_socket(fd));
  ASSERT_EQ(::bind(fd, address->data(), address->size()), 0);
  EXPECT_EQ(UnixAddress::of_socket(fd)->text(), address->text());
  ::close(fd);
}

}  // namespace
}  // namespace damper::http
