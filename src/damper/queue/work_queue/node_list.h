#pragma once

#include <cstddef>
#include <cstdint>

namespace damper::queue {

// The neighbours of a KeyTable entry in a NodeList. An entry is in at most one list.
struct Links {
  std::uint32_t previous = 0;
  std::uint32_t next = 0;
};

// A NodeList is a doubly linked list of KeyTable entries whose values have `Links links`.
//
// Why: an entry moves between lists without an allocation, and is removed from the middle in O(1).
// Model: linked by index. The size determines the end; links past the ends are stale and never
// followed.
// Thread safety: none. Cost: 12 bytes; every method is O(1).
// [[gnu::always_inline]] in KeyTable, NodeList and ReadyLines saves 10 ns (10 %) of
// BM_QueueAddGetDone together.
class NodeList {
 public:
  using Index = std::uint32_t;

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // REQUIRES: !empty(), for both.
  [[nodiscard]] Index front() const noexcept { return front_; }
  [[nodiscard]] Index back() const noexcept { return back_; }

  // REQUIRES: the entry is in no list.
  template <class Table>
  [[gnu::always_inline]] void push_back(Table& table, Index added) noexcept {
    table.value(added).links.previous = back_;
    (size_ == 0 ? front_ : table.value(back_).links.next) = added;
    back_ = added;
    ++size_;
  }

  // REQUIRES: the entry is in this list.
  template <class Table>
  [[gnu::always_inline]] void remove(Table& table, Index removed) noexcept {
    const Links links = table.value(removed).links;
    (removed == front_ ? front_ : table.value(links.previous).links.next) = links.next;
    (removed == back_ ? back_ : table.value(links.next).links.previous) = links.previous;
    --size_;
  }

  // Calls f(index) for each entry from the front; f may remove its argument.
  template <class Table, class F>
  void for_each(Table& table, F&& f) const {
    Index at = front_;
    for (std::size_t left = size_; left > 0; --left) {
      const Index after = table.value(at).links.next;
      f(at);
      at = after;
    }
  }

 private:
  Index front_ = 0;
  Index back_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace damper::queue
