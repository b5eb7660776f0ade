#include <array>
#include <cstdint>
#include <string>

#include "damper/base/seqlock.h"
#include "damper/base/slot_ring.h"
#include "damper/base/thread_slot.h"
#include "tests/interleavings/interleavings_testing.h"

namespace damper::interleavings {
namespace {

struct Words {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
};

// A writer and a reader, or two of each.
template <int kCount>
class SeqlockWorld {
 public:
  static constexpr int kThreads = kCount;
  void run(int thread) {
    for (std::uint64_t i = 1; i <= 3; ++i) {
      const std::uint64_t value = static_cast<std::uint64_t>(thread) * 10 + i;
      if (thread % 2 == 0) {
        Scheduler::note("store");
        lock_.store({value, value, value});
      } else {
        Scheduler::note("load");
        torn_ = torn_ || is_torn();
      }
    }
  }
  std::string fault() {
    if (torn_ || is_torn()) return "a load is a mixture of two stores";
    return lock_.version() == 1 + 3 * ((kCount + 1) / 2) ? "" : "a store is not counted";
  }

 private:
  bool is_torn() {
    const Words words = lock_.load();
    return words.a != words.b || words.b != words.c;
  }
  Seqlock<Words> lock_;
  bool torn_ = false;
};

TEST(Interleavings, ASeqlockIsNeverTorn) { expect_sound<SeqlockWorld<2>>(3, 1'000); }
TEST(Interleavings, ASeqlockOfTwoWritersIsNeverTorn) {
  expect_sound<SeqlockWorld<3>>(2, 1'000);
  expect_sound_at_random<SeqlockWorld<4>>(2'000);
}

// Each thread takes a slot, returns it, takes one again.
template <int kCount>
class SlotWorld {
 public:
  static constexpr int kThreads = kCount;
  ~SlotWorld() {
    for (int slot = 0; slot < kThreadSlots; ++slot) {
      if (owners_[static_cast<std::size_t>(slot)] != 0) internal::return_slot(slot);
    }
  }
  void run(int /*thread*/) {
    for (int i = 0; i < 3; ++i) {
      const int slot = internal::take_free_slot();
      int& owners = owners_[static_cast<std::size_t>(slot)];
      shared_ = ++owners > 1 || shared_;
      high_ = high_ || slot >= kCount;
      Scheduler::pause();
      if (i == 2) return;  // It keeps the last one.
      --owners;
      internal::return_slot(slot);
    }
  }
  std::string fault() const {
    if (shared_) return "two threads have the same slot";
    return high_ ? "a slot is lost" : "";
  }

 private:
  std::array<int, kThreadSlots + 1> owners_{};
  bool shared_ = false;
  bool high_ = false;
};

TEST(Interleavings, NoTwoThreadsShareASlot) {
  expect_sound<SlotWorld<2>>(4, 1'000);
  expect_sound_at_random<SlotWorld<4>>(2'000);
}

// Counts of two tags in one word.
class TaggedWorld {
 public:
  static constexpr int kThreads = 2;
  void run(int thread) {
    if (thread == 0) {
      old_ += count_.add(5) != 0 ? 1 : 0;
      old_ += count_.add(5) != 0 ? 1 : 0;
      count_.take(5);
    } else {
      new_ += count_.add(5) != 0 ? 0 : 100;
      count_.add(6);
      count_.add(6);
      count_.raise(6, 2);
    }
  }
  std::string fault() const {
    const auto [tag, count] = count_.load();
    return tag == 6 && count == 2 && new_ == 0 ? "" : "an old add counts for a newer tag";
  }

 private:
  TaggedCount count_;
  int old_ = 0;
  int new_ = 0;
};

TEST(Interleavings, AnAddUnderAnOldTagNeverCountsForANewOne) { expect_sound<TaggedWorld>(4, 300); }

}  // namespace
}  // namespace damper::interleavings
