#include "damper/http/net/signal_fd.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace damper::http {
namespace {

TEST(SignalFd, ASignalIsReadInsteadOfEndingTheProcess) {
  SignalFd signals({SIGUSR2, SIGHUP});
  EXPECT_EQ(signals.next(), 0);
  kill(getpid(), SIGUSR2);
  EXPECT_EQ(signals.next(), SIGUSR2);
  EXPECT_EQ(signals.next(), 0);
  EXPECT_EQ(sigismember(&signals.mask_before(), SIGUSR2), 0);
}

TEST(SignalFd, WhatCameAndWasNotReadDoesNotComeAfterItsEnd) {
  {
    const SignalFd signals({SIGUSR2});
    kill(getpid(), SIGUSR2);
  }
  SUCCEED();  // It would have ended the process.
}

}  // namespace
}  // namespace damper::http
