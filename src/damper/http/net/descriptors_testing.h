#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "damper/http/net/descriptor_limit.h"

namespace damper::http {

// Lowers the process's limit of descriptors, so that `left` of them are free, until its end. The
// reserve, if the test makes one, ends with it.
class DescriptorsLeft {
 public:
  explicit DescriptorsLeft(rlim_t left) {
    const int free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);  // The lowest one.
    EXPECT_GE(free, 0);
    EXPECT_EQ(::close(free), 0);
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(free) + left;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  DescriptorsLeft(const DescriptorsLeft&) = delete;
  DescriptorsLeft& operator=(const DescriptorsLeft&) = delete;
  ~DescriptorsLeft() {
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0);
    reserve_descriptors();  // Of the old limit, which no test reaches.
  }

 private:
  rlimit before_{};
};

}  // namespace damper::http
