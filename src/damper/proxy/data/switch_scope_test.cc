#include "damper/proxy/data/switch_scope.h"

#include <gtest/gtest.h>

namespace damper::proxy {
namespace {

TEST(SwitchScope, ItsTextIsReadTheSame) {  // Invariant (1).
  for (const SwitchScope& scope :
       {SwitchScope{}, SwitchScope::cluster("shop"), SwitchScope::route("a/b")}) {
    EXPECT_EQ(*parse_scope(scope.text()), scope) << scope.text();
  }
  EXPECT_EQ(SwitchScope{}.text(), "process");
  EXPECT_EQ(SwitchScope::route("a/b").text(), "route/a/b");
}

TEST(SwitchScope, AnEmptyTextIsTheProcess) { EXPECT_EQ(*parse_scope(""), SwitchScope{}); }

TEST(SwitchScope, AnErrorNamesTheTextAndTheForms) {
  EXPECT_EQ(parse_scope("checkout").error(),
            "scope is \"checkout\"; it must be process, cluster/NAME or route/NAME");
  for (const char* text :
       {"route", "route/", "cluster/", "process/", "process/x", "/x", "Route/x"}) {
    EXPECT_FALSE(parse_scope(text)) << text;
  }
  EXPECT_TRUE(parse_scope("route/" + std::string(kLongestScope - 6, 'x')));
  EXPECT_FALSE(parse_scope("route/" + std::string(kLongestScope - 5, 'x')));
}

}  // namespace
}  // namespace damper::proxy
