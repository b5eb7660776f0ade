#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "damper/admit/criticality.h"
#include "damper/base/check.h"
#include "damper/base/instant.h"

namespace damper::admit {

// ClassLists<T> keeps waiting items in one pool: a list in order of arrival for each criticality.
//
// Why: a ring for each class would reserve the whole capacity four times, or give each class a
// quarter of it.
// Model: nodes in one array; doubly linked lists of indices, one a class and one of the free nodes.
// The size says where a list ends; links past its ends are stale and never followed.
// Invariants:
//   (1) Each node is in exactly one list; the sizes add up to size().
//   (2) A list is in order of arrival, oldest at the front.
// Thread safety: none.
// Cost: one allocation, at construction and to grow; every other method is O(1).
template <class T>
class ClassLists {
  static_assert(std::is_nothrow_move_constructible_v<T>);

 public:
  struct Waiting {
    T item;
    Instant arrived;
    Instant deadline;
  };

  explicit ClassLists(std::size_t capacity) : nodes_(capacity) {
    for (std::size_t i = 0; i < capacity; ++i) {
      nodes_[i].newer = i + 1 < capacity ? static_cast<Index>(i + 1) : kNone;
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t size(Criticality c) const noexcept { return list(c).size; }
  [[nodiscard]] bool full() const noexcept { return size_ == nodes_.size(); }

  // Grows to this capacity, if it is larger than the current one.
  void grow(std::size_t capacity) {
    for (std::size_t i = nodes_.size(); i < capacity; ++i) {
      nodes_.emplace_back().newer = free_;
      free_ = static_cast<Index>(i);
    }
  }

  // Identifies a waiting item, until it is taken.
  using Handle = std::uint32_t;

  // REQUIRES: !full().
  Handle push(Criticality c, Waiting&& waiting) noexcept {
    DAMPER_CHECK(free_ != kNone);
    const Index added = free_;
    free_ = nodes_[added].newer;
    nodes_[added].waiting.emplace(std::move(waiting));
    nodes_[added].older = list(c).newest;
    (list(c).size == 0 ? list(c).oldest : nodes_[list(c).newest].newer) = added;
    list(c).newest = added;
    ++list(c).size;
    ++size_;
    return added;
  }

  // REQUIRES: size(c) > 0, for each of these.
  [[nodiscard]] const Waiting& oldest(Criticality c) const noexcept {
    DAMPER_CHECK(size(c) > 0);
    return *nodes_[list(c).oldest].waiting;
  }
  [[nodiscard]] Waiting take_oldest(Criticality c) noexcept {
    DAMPER_CHECK(size(c) > 0);
    const Index taken = list(c).oldest;
    list(c).oldest = nodes_[taken].newer;
    return take(c, taken);
  }
  [[nodiscard]] Waiting take_newest(Criticality c) noexcept {
    DAMPER_CHECK(size(c) > 0);
    const Index taken = list(c).newest;
    list(c).newest = nodes_[taken].older;
    return take(c, taken);
  }
  // REQUIRES: it waits there, in that class.
  [[nodiscard]] Waiting take_at(Criticality c, Handle handle) noexcept {
    DAMPER_CHECK(handle < nodes_.size() && nodes_[handle].waiting && size(c) > 0);
    if (handle == list(c).oldest) return take_oldest(c);
    if (handle == list(c).newest) return take_newest(c);
    nodes_[nodes_[handle].older].newer = nodes_[handle].newer;
    nodes_[nodes_[handle].newer].older = nodes_[handle].older;
    return take(c, handle);
  }

 private:
  using Index = Handle;
  static constexpr Index kNone = 0xffff'ffff;
  struct Node {
    std::optional<Waiting> waiting;
    Index older = kNone;
    Index newer = kNone;  // Of a free node: the next free one.
  };
  struct List {
    Index oldest = kNone;
    Index newest = kNone;
    std::size_t size = 0;
  };

  List& list(Criticality c) noexcept { return lists_[static_cast<std::size_t>(c)]; }
  const List& list(Criticality c) const noexcept { return lists_[static_cast<std::size_t>(c)]; }

  Waiting take(Criticality c, Index taken) noexcept {
    Waiting waiting = *std::move(nodes_[taken].waiting);
    nodes_[taken].waiting.reset();
    nodes_[taken].newer = free_;
    free_ = taken;
    --list(c).size;
    --size_;
    return waiting;
  }

  std::vector<Node> nodes_;
  std::array<List, kCriticalities> lists_;
  Index free_ = 0;
  std::size_t size_ = 0;
};

}  // namespace damper::admit
