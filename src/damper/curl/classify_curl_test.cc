#include "damper/curl/classify_curl.h"

#include <gtest/gtest.h>

namespace damper::curl {
namespace {

using decide::Outcome;

TEST(ClassifyCurl, WhatNeverLeftIsUnavailable) {
  for (const CURLcode code : {CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY,
                              CURLE_COULDNT_CONNECT, CURLE_SSL_CONNECT_ERROR}) {
    EXPECT_EQ(classify_curl(code, false), Outcome::unavailable) << code;
  }
  EXPECT_EQ(classify_curl(CURLE_OPERATION_TIMEDOUT, false), Outcome::unavailable);
  EXPECT_EQ(classify_curl(CURLE_SEND_ERROR, false), Outcome::unavailable);
}

TEST(ClassifyCurl, WhatMayHaveHappenedIsNot) {
  EXPECT_EQ(classify_curl(CURLE_OPERATION_TIMEDOUT, true), Outcome::timeout);
  for (const CURLcode code : {CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING,
                              CURLE_PARTIAL_FILE, CURLE_HTTP2, CURLE_HTTP2_STREAM}) {
    EXPECT_EQ(classify_curl(code, true), Outcome::transient) << code;
  }
}

TEST(ClassifyCurl, ARedirectThatLeadsNowhereCameAfterARequest) {
  for (const CURLcode code :
       {CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT,
        CURLE_SSL_CONNECT_ERROR, CURLE_PROXY, CURLE_INTERFACE_FAILED}) {
    EXPECT_EQ(classify_curl(code, true), Outcome::transient) << code;
  }
}

TEST(ClassifyCurl, TheRest) {
  EXPECT_EQ(classify_curl(CURLE_OK, true), Outcome::success);
  EXPECT_EQ(classify_curl(CURLE_ABORTED_BY_CALLBACK, true), Outcome::cancelled);
  EXPECT_EQ(classify_curl(CURLE_NO_CONNECTION_AVAILABLE, false), Outcome::overload);
  EXPECT_EQ(classify_curl(CURLE_PEER_FAILED_VERIFICATION, false), Outcome::permanent);
  EXPECT_EQ(classify_curl(CURLE_URL_MALFORMAT, false), Outcome::permanent);
  EXPECT_EQ(classify_curl(CURLE_WRITE_ERROR, true), Outcome::permanent);
}

}  // namespace
}  // namespace damper::curl
