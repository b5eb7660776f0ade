#include "damper/http/net/descriptor_limit.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "damper/http/net/descriptors_testing.h"

namespace damper::http {
namespace {

int first_free() {
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(::close(fd), 0);
  return fd;
}

TEST(DescriptorLimit, TheLastOnesAreReserved) {
  const auto free = static_cast<std::size_t>(first_free());
  const DescriptorsLeft left(10);
  ASSERT_EQ(reserve_descriptors(), free + 2);  // 8 of them.
  const std::uint64_t before = out_of_descriptors_count();
  EXPECT_FALSE(is_out_of_descriptors(static_cast<int>(free) + 1));
  EXPECT_FALSE(is_out_of_descriptors(static_cast<int>(free) + 2, true));
  EXPECT_EQ(out_of_descriptors_count(), before);
  EXPECT_TRUE(is_out_of_descriptors(static_cast<int>(free) + 2));
  EXPECT_EQ(out_of_descriptors_count(), before + 1);
}

TEST(DescriptorLimit, AnErrorIsOneOnlyIfItNamesDescriptors) {
  for (const bool may_use_reserve : {false, true}) {
    errno = EMFILE;
    EXPECT_TRUE(is_out_of_descriptors(-1, may_use_reserve));
    errno = ENFILE;
    EXPECT_TRUE(is_out_of_descriptors(-1, may_use_reserve));
    errno = EAGAIN;
    EXPECT_FALSE(is_out_of_descriptors(-1, may_use_reserve));
  }
}

}  // namespace
}  // namespace damper::http
