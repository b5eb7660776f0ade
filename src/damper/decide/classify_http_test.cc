#include "damper/decide/classify_http.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

namespace damper::decide {
namespace {

TEST(ClassifyHttp, EveryStatusIsInTheTable) {
  const std::map<int, Outcome> exceptions = {{408, Outcome::transient}, {409, Outcome::conflict},
                                             {412, Outcome::conflict},  {425, Outcome::transient},
                                             {429, Outcome::overload},  {501, Outcome::permanent}};
  for (int status = 100; status <= 599; ++status) {
    Outcome expected = Outcome::success;
    if (status >= 400) expected = Outcome::permanent;
    if (status >= 500) expected = Outcome::transient;
    if (const auto found = exceptions.find(status); found != exceptions.end()) {
      expected = found->second;
    }
    EXPECT_EQ(classify_http(status), expected) << status;
  }
}

TEST(ClassifyHttp, WhatIsNoStatusIsPermanent) {
  for (const int status :
       {std::numeric_limits<int>::min(), -1, 0, 99, 600, 999, std::numeric_limits<int>::max()}) {
    EXPECT_EQ(classify_http(status), Outcome::permanent) << status;
  }
}

}  // namespace
}  // namespace damper::decide
