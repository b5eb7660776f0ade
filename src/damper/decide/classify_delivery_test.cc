#include "damper/decide/classify_delivery.h"

#include <gtest/gtest.h>

namespace damper::decide {
namespace {

TEST(ClassifyDelivery, OnlyA2xxIsASuccess) {
  for (const int status : {200, 201, 202, 204, 299}) {
    EXPECT_EQ(classify_delivery(status), Outcome::success) << status;
  }
  for (const int status : {0, 100, 199, 300, 301, 302, 304, 307, 308, 399}) {
    EXPECT_EQ(classify_delivery(status), Outcome::transient) << status;
  }
}

TEST(ClassifyDelivery, TellsAnEndpointThatRefusesAllFromOneMessageThatIsRefused) {
  for (const int status : {401, 403, 404, 405, 407, 421, 408, 425, 500, 502, 503, 504}) {
    EXPECT_TRUE(is_failure(classify_delivery(status))) << status;
  }
  for (const int status : {400, 409, 410, 412, 413, 415, 422, 501}) {
    EXPECT_EQ(classify_delivery(status), Outcome::permanent) << status;
    EXPECT_FALSE(is_failure(classify_delivery(status))) << status;
  }
}

TEST(ClassifyDelivery, AReceiverThatAsksForLessIsOverloaded) {
  for (const int status : {429, 503}) EXPECT_EQ(classify_delivery(status), Outcome::overload);
  for (const int status : {500, 502, 504}) {
    EXPECT_EQ(classify_delivery(status), Outcome::transient) << status;
  }
}

TEST(ClassifyDelivery, GoneIsOneStatus) {
  EXPECT_TRUE(is_gone(410));
  EXPECT_FALSE(is_gone(404));
}

}  // namespace
}  // namespace damper::decide
