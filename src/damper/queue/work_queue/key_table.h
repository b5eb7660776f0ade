#ifndef DAMPER_QUEUE_WORK_QUEUE_KEY_TABLE_H_
#define DAMPER_QUEUE_WORK_QUEUE_KEY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/base/check.h"

namespace damper::queue {

// How a key is looked up, stored and hashed. A std::string is looked up by a string_view, so that
// to ask for one makes none. For keys of your own, std::hash and == are enough; a key is made from
// nothing and assigned to.
template <class Key>
struct KeyTraits {
  using View = const Key&;
  static std::size_t hash(View key) { return std::hash<Key>{}(key); }
};
template <>
struct KeyTraits<std::string> {
  using View = std::string_view;
  static std::size_t hash(View key) { return std::hash<std::string_view>{}(key); }
};
template <class Key>
using KeyView = typename KeyTraits<Key>::View;

// A KeyTable<Key, Value> holds a value for each of some keys, at places that do not move.
//
// Why: a worker reads the key that it works on while others add theirs, so an entry may not move;
// and a queue takes keys in and out all the time, so that must not allocate. Maps of nodes do for
// each key; flat maps move their entries.
// Model: entries in chunks that are never given back, the free ones in a list; beside them a table
// of (hash, entry) with linear probing, where a removal moves the followers back (Knuth 6.4,
// algorithm R) instead of leaving a tombstone. Half of it at most is used. The hash is kept in the
// entry, so that removing needs no key.
// Invariants:
//   (1) An Index and the references to its key and value are good from insert to erase.
//   (2) What was freed last is used first, and keeps its key's memory: a table that was once as
//       large allocates nothing (for strings: none that is longer than those before it).
// Thread safety: none.
// Cost: find, insert, erase: one probe of a few cells, one comparison of keys; keys whose std::hash
// is the same are all looked at. When the table
// doubles, one insert costs as much as all cells. Memory: 16 to 32 bytes for each key beside entry.
template <class Key, class Value>
class KeyTable {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0xffff'ffff;
  static constexpr std::size_t kMost = std::size_t{1} << 30;

  KeyTable() : cells_(kFewest) {}

  // The key's hash, for the functions below.
  [[nodiscard]] static std::uint32_t hash(KeyView<Key> key) {
    const auto wide = static_cast<std::uint64_t>(KeyTraits<Key>::hash(key));
    return static_cast<std::uint32_t>((wide ^ wide >> 32) * 0x9e37'79b9'7f4a'7c15U >> 32);
  }

  // kNone when the key is not here.
  [[nodiscard]] Index find(KeyView<Key> key, std::uint32_t hash) const {
    for (std::size_t at = home(hash);; at = next(at)) {
      const Cell cell = cells_[at];
      if (cell.index == kNone) return kNone;
      if (cell.hash == hash && entry(cell.index).key == key) return cell.index;
    }
  }
  [[nodiscard]] Index find(KeyView<Key> key) const { return find(key, hash(key)); }

  // REQUIRES: the key is not here; size() < kMost. The value is as it was left, or as made.
  [[gnu::always_inline]] Index insert(KeyView<Key> key, std::uint32_t hash) {
    DAMPER_CHECK(size_ < kMost);
    if ((size_ + 1) * 2 > cells_.size()) rehash(cells_.size() * 2);
    if (free_ == kNone) grow();
    const Index index = free_;
    Entry& added = entry(index);
    added.key = key;  // May throw; nothing has changed then.
    free_ = added.hash;
    added.hash = hash;
    ++size_;
    place({hash, index});
    return index;
  }

  // REQUIRES: the entry is in use.
  void erase(Index index) noexcept {
    Entry& erased = entry(index);
    std::size_t hole = home(erased.hash);
    while (cells_[hole].index != index) hole = next(hole);
    for (std::size_t at = next(hole); cells_[at].index != kNone; at = next(at)) {
      const std::size_t wants = home(cells_[at].hash);
      if (((at - wants) & mask()) >= ((at - hole) & mask())) {
        cells_[hole] = cells_[at];
        hole = at;
      }
    }
    cells_[hole].index = kNone;
    erased.hash = free_;
    free_ = index;
    --size_;
  }

  // REQUIRES: the entry is in use, for key().
  [[nodiscard]] const Key& key(Index index) const noexcept { return entry(index).key; }
  [[nodiscard]] Value& value(Index index) noexcept { return entry(index).value; }
  [[nodiscard]] const Value& value(Index index) const noexcept { return entry(index).value; }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // How many entries there is memory for; an Index is below it.
  [[nodiscard]] std::size_t entries() const noexcept { return chunks_.size() * kChunk; }

 private:
  struct Cell {
    std::uint32_t hash = 0;
    Index index = kNone;
  };
  struct Entry {
    Key key{};
    Value value{};
    std::uint32_t hash = 0;  // of a free entry: the next free one
  };
  static constexpr std::size_t kChunk = 256;
  static constexpr std::size_t kFewest = 64;

  [[nodiscard]] std::size_t mask() const noexcept { return cells_.size() - 1; }
  [[nodiscard]] std::size_t next(std::size_t at) const noexcept { return (at + 1) & mask(); }
  [[nodiscard]] std::size_t home(std::uint32_t hash) const noexcept { return hash & mask(); }
  [[nodiscard]] Entry& entry(Index index) const noexcept {
    return chunks_[index / kChunk][index % kChunk];
  }

  void place(Cell cell) noexcept {
    std::size_t at = home(cell.hash);
    while (cells_[at].index != kNone) at = next(at);
    cells_[at] = cell;
  }
  void rehash(std::size_t size) {
    std::vector<Cell> old(size);
    old.swap(cells_);
    for (const Cell& cell : old) {
      if (cell.index != kNone) place(cell);
    }
  }
  void grow() {
    const auto first = static_cast<Index>(entries());
    chunks_.push_back(std::make_unique<Entry[]>(kChunk));
    for (std::size_t i = kChunk; i-- > 0;) {
      chunks_.back()[i].hash = free_;
      free_ = first + static_cast<Index>(i);
    }
  }

  std::vector<Cell> cells_;
  std::vector<std::unique_ptr<Entry[]>> chunks_;
  Index free_ = kNone;
  std::size_t size_ = 0;
};

}  // namespace damper::queue

#endif  // DAMPER_QUEUE_WORK_QUEUE_KEY_TABLE_H_
