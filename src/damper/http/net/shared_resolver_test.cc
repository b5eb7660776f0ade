#include "damper/http/net/shared_resolver.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "damper/run/clock.h"

namespace damper::http {
namespace {

using Names = std::vector<std::string>;

// Answers when the test says so.
class SlowResolver final : public Resolver {
 public:
  void resolve(const std::string& host, Done done) override {
    asked.push_back(host);
    waiting.push_back(std::move(done));
  }
  Names asked;
  std::vector<Done> waiting;
};

class SharedResolverTest : public testing::Test {
 protected:
  SharedResolverTest() {
    auto slow = std::make_unique<SlowResolver>();
    slow_ = slow.get();
    shared_ = std::make_unique<SharedResolver>(loop_, std::move(slow));
  }
  void ask(const std::string& host) {
    shared_->resolve(host, [this](const Names& found) {
      ++told_;
      last_ = found;
    });
  }

  Loop loop_;
  SlowResolver* slow_ = nullptr;
  std::unique_ptr<SharedResolver> shared_;
  int told_ = 0;
  Names last_;
};

TEST_F(SharedResolverTest, OneLookupServesAllWhoAskMeanwhileAndShortlyAfter) {
  for (int i = 0; i < 100; ++i) ask("db");
  ask("other");
  EXPECT_EQ(slow_->asked, (Names{"db", "other"}));
  slow_->waiting[0]({"10.0.0.1"});
  EXPECT_EQ(told_, 100);
  EXPECT_EQ(last_, Names{"10.0.0.1"});
  ask("db");
  EXPECT_EQ(told_, 101);
  EXPECT_EQ(slow_->asked.size(), 2U);
  const Instant start = run::now();
  while (run::now() < add(start, SharedResolver::kKeep)) {
  }
  ask("db");  // What was found is too old.
  EXPECT_EQ(slow_->asked.size(), 3U);
  EXPECT_EQ(told_, 101);
}

TEST_F(SharedResolverTest, LookupsAndThoseWhoWaitAreBounded) {
  for (std::size_t i = 0; i < SharedResolver::kMostLookups + 5; ++i) ask(std::to_string(i));
  EXPECT_EQ(slow_->asked.size(), SharedResolver::kMostLookups);
  EXPECT_EQ(told_, 5);
  told_ = 0;
  for (std::size_t i = 0; i < SharedResolver::kMostWaiting; ++i) ask("0");
  EXPECT_EQ(told_, 1);
  slow_->waiting[0]({});
  EXPECT_EQ(told_, static_cast<int>(SharedResolver::kMostWaiting) + 1);
  ask("one more");  // There is room again.
  EXPECT_EQ(slow_->asked.back(), "one more");
}

TEST_F(SharedResolverTest, WhatIsKeptIsBounded) {
  for (std::size_t i = 0; i < SharedResolver::kMostKept + 5; ++i) {
    ask(std::to_string(i));
    slow_->waiting.back()({"10.0.0.1"});
  }
  ask("0");  // The first one is kept, the last one was not.
  const std::size_t before = slow_->asked.size();
  ask(std::to_string(SharedResolver::kMostKept + 4));
  EXPECT_EQ(slow_->asked.size(), before + 1);
}

TEST_F(SharedResolverTest, NobodyIsToldAfterItHasGone) {
  ask("db");
  const Resolver::Done late = slow_->waiting[0];
  shared_.reset();
  late({"10.0.0.1"});
  EXPECT_EQ(told_, 0);
}

}  // namespace
}  // namespace damper::http
