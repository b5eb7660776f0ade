#ifndef DAMPER_LAB_WORLD_WAIT_LINE_H_
#define DAMPER_LAB_WORLD_WAIT_LINE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "damper/base/check.h"
#include "damper/lab/world/slab.h"

namespace damper::lab {

// A WaitLine is those who wait, in the order in which they came; anybody may leave from anywhere.
//
// Why: a std::deque would keep those who have left until their turn comes, which under overload is
// most of them, for ever, and it allocates and frees as the line moves on.
// Model: a doubly linked list in an array of places; place 0 is its end, before the first and after
// the last. Free places are linked as well, the last one freed first.
// Thread safety: none. Cost: O(1); 16 bytes for each of the most that ever waited at once, and an
// allocation only when there are more than ever.
class WaitLine {
 public:
  using Place = std::uint32_t;

  // Joins at the end. The place is theirs until they leave.
  Place push(Handle who) {
    if (free_ == kEnd) {
      places_.push_back({});
      free_ = static_cast<Place>(places_.size() - 1);
    }
    const Place place = free_;
    free_ = places_[place].next;
    const Place last = places_[kEnd].previous;
    places_[place] = {who, last, kEnd};
    places_[last].next = place;
    places_[kEnd].previous = place;
    ++size_;
    return place;
  }

  // REQUIRES: !empty().
  Handle pop_oldest() noexcept { return leave(places_[kEnd].next); }
  Handle pop_newest() noexcept { return leave(places_[kEnd].previous); }

  // Whoever has the place leaves. REQUIRES: somebody has.
  Handle leave(Place place) noexcept {
    DAMPER_CHECK(place != kEnd && places_[place].previous != kNobody);
    const Waiting waiting = places_[place];
    places_[waiting.previous].next = waiting.next;
    places_[waiting.next].previous = waiting.previous;
    places_[place] = {{}, kNobody, free_};
    free_ = place;
    --size_;
    return waiting.who;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  static constexpr Place kEnd = 0;
  static constexpr Place kNobody = UINT32_MAX;

  struct Waiting {
    Handle who{};
    Place previous = kEnd;  // kNobody: the place is free
    Place next = kEnd;      // of a free place: the next free one
  };

  std::vector<Waiting> places_{Waiting{}};
  Place free_ = kEnd;  // kEnd: none
  std::size_t size_ = 0;
};

}  // namespace damper::lab

#endif  // DAMPER_LAB_WORLD_WAIT_LINE_H_
