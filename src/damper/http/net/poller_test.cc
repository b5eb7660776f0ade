#include "damper/http/net/poller.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "damper/http/net/loop.h"

namespace damper::http {
namespace {

// Something that can be told of: a counter of the kernel's.
class Told final : public Poller::Place {
 public:
  explicit Told(boost::asio::io_context& context)
      : poller_(Poller::of(context)), fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    EXPECT_TRUE(poller_.try_add(fd_, *this));
  }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
  ~Told() override { leave(); }

  void change() const {
    constexpr std::uint64_t kOne = 1;
    EXPECT_EQ(::write(fd_, &kOne, sizeof(kOne)), 8);
  }
  void leave() {
    if (fd_ < 0) return;
    poller_.remove(fd_, *this);
    (void)::close(std::exchange(fd_, -1));
  }
  void hold() { poller_.hold(); }
  void release() { poller_.release(); }
  void call_soon() { poller_.call_soon(*this); }

  int changes = 0;
  int soons = 0;
  std::function<void()> then = [] {};
  std::shared_ptr<int> owned;

 private:
  void on_events(std::uint32_t events) override {
    if ((events & EPOLLIN) == 0) return;  // That there is room is no news.
    ++changes;
    then();
  }
  void on_soon() override {
    ++soons;
    then();
  }

  Poller& poller_;
  int fd_;
};

class PollerTest : public testing::Test {
 protected:
  PollerTest() { Poller::of(context_).poll(); }

  // Those that are there, told that they have room, which every new one is.
  std::vector<std::unique_ptr<Told>> make(std::size_t many) {
    std::vector<std::unique_ptr<Told>> made;
    for (std::size_t i = 0; i < many; ++i) made.push_back(std::make_unique<Told>(context_));
    while (Poller::of(context_).poll() > 0) {
    }
    return made;
  }
  void poll() {
    context_.restart();
    context_.poll();
  }

  boost::asio::io_context context_;
};

// (1)
TEST_F(PollerTest, EveryOneOfManyChangesIsToldOnce) {
  const auto all = make(1500);  // more than a poll() takes
  for (const auto& one : all) one->change();
  const auto told = [&] {
    int sum = 0;
    for (const auto& one : all) sum += one->changes;
    return sum;
  };
  all[0]->hold();
  poll();
  EXPECT_EQ(told(), 1500);
  poll();
  EXPECT_EQ(told(), 1500);
  all[0]->release();
}

TEST_F(PollerTest, ALoopMayAskItself) {
  const auto all = make(2);
  all[1]->change();
  EXPECT_EQ(Poller::of(context_).poll(), 1U);
  EXPECT_EQ(Poller::of(context_).last_told(), 1U);
  EXPECT_EQ(all[1]->changes, 1);
  EXPECT_EQ(Poller::of(context_).poll(), 0U);
}

// (2)
TEST_F(PollerTest, WhoWasRemovedByAnotherIsNotToldAnyMore) {
  auto all = make(2);
  all[0]->then = [&] { all[1].reset(); };
  all[1]->then = [&] { all[0].reset(); };
  for (const auto& one : all) one->change();
  Poller::of(context_).poll();  // One of them ends the other.
  EXPECT_NE(all[0] == nullptr, all[1] == nullptr);
}

// (2)
TEST_F(PollerTest, WhoRetiresItselfIsThereUntilItsCallIsOver) {
  auto all = make(1);
  auto owned = std::make_shared<int>(0);
  const std::weak_ptr<int> seen = owned;
  all[0]->owned = std::move(owned);
  all[0]->then = [&] {
    all[0]->leave();
    Poller::of(context_).retire(std::move(all[0]));
    EXPECT_FALSE(seen.expired());
  };
  all[0]->change();
  Poller::of(context_).poll();
  EXPECT_TRUE(seen.expired());
}

// (2)
TEST_F(PollerTest, AnExceptionKeepsNobodyElseFromBeingTold) {
  const auto all = make(3);
  for (const auto& one : all) {
    one->then = [] { throw std::runtime_error("told"); };
    one->change();
  }
  all[0]->hold();
  for (int thrown = 0; thrown < 3; ++thrown) EXPECT_THROW(poll(), std::runtime_error);
  poll();
  for (const auto& one : all) EXPECT_EQ(one->changes, 1);
  all[0]->release();
}

// (3)
TEST_F(PollerTest, TheContextRunsForAsLongAsSomebodyWaits) {
  const auto all = make(1);
  context_.restart();
  EXPECT_EQ(context_.run(), 0U);  // Nobody does.
  all[0]->hold();
  all[0]->then = [&] { all[0]->release(); };
  all[0]->change();
  context_.restart();
  EXPECT_GT(context_.run(), 0U);
  EXPECT_EQ(all[0]->changes, 1);
}

TEST_F(PollerTest, WhoAsksToBeCalledSoonIsCalledOnceForIt) {
  const auto all = make(3);
  all[0]->call_soon();
  all[0]->call_soon();
  all[1]->call_soon();
  all[2]->call_soon();
  all[0]->then = [&] { all[1]->leave(); };  // It is not called then.
  poll();
  EXPECT_EQ(all[0]->soons, 1);
  EXPECT_EQ(all[1]->soons, 0);
  EXPECT_EQ(all[2]->soons, 1);
}

TEST_F(PollerTest, WhoAsksAgainLetsOthersGoFirst) {
  const auto all = make(2);
  int before = 0;
  all[0]->then = [&] {
    if (all[1]->soons == 0) ++before;
    if (all[0]->soons < 5) all[0]->call_soon();
  };
  all[0]->call_soon();
  all[1]->call_soon();
  poll();
  EXPECT_EQ(all[0]->soons, 5);
  EXPECT_EQ(before, 1);
}

// A busy loop asks its sockets without the context; who is to be called soon does not wait for
// that.
TEST(PollerOfALoop, WhoIsCalledSoonIsNotPutOffByOthersThatAreBusy) {
  Loop loop;
  std::vector<std::unique_ptr<Told>> busy;
  for (int i = 0; i < 3; ++i) busy.push_back(std::make_unique<Told>(loop.context()));
  Told soon(loop.context());
  busy[0]->hold();
  for (const auto& one : busy) {
    one->then = [&, told = one.get()] { told->change(); };  // In the next turn again.
    one->change();
  }
  busy[0]->then = [&] {
    busy[0]->change();
    if (busy[0]->changes == 20) soon.call_soon();
    if (busy[0]->changes == 60) loop.stop();
  };
  soon.then = [&] { EXPECT_LE(busy[0]->changes, 21); };
  loop.run();
  EXPECT_EQ(soon.soons, 1);
  busy[0]->release();
}

}  // namespace
}  // namespace damper::http
