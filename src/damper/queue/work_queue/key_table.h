#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "damper/base/check.h"

namespace damper::queue {

// The parameter type and hash of a key. A std::string is looked up by a string_view, without a
// temporary string. A user's key type needs std::hash, ==, a default constructor and assignment.
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

// A KeyTable<Key, Value> is a hash map whose entries do not move.
//
// Why: a worker reads its key while other threads add keys, so entries must not move; and keys are
// inserted and erased all the time, so that must not allocate. Node-based maps allocate for each
// key; flat maps move their entries.
// Model: entries in chunks that are never freed, with a free list; an index of (hash, entry) cells
// with linear probing, where a removal moves the following cells back (Knuth 6.4, algorithm R)
// instead of leaving a tombstone. At most half of the cells are used. The entry stores its hash, so
// that erase() does not hash the key.
// Invariants:
//   (1) An Index and the references to its key and value are valid from insert to erase.
//   (2) The entry freed last is reused first. Erasing a key destroys it, which may own more than
//       memory; but a string's memory is kept: no allocation below the largest size so far and the
//       longest key of the entry.
// Thread safety: none.
// Cost: find, insert, erase: a few cells and one comparison of keys; all keys with an equal
// std::hash are compared. The insert that doubles the index visits all cells. Memory: 16 to 32
// bytes a key in addition to the entry.
template <class Key, class Value>
class KeyTable {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0xffff'ffff;
  static constexpr std::size_t kMost = std::size_t{1} << 30;

  KeyTable() : cells_(kFewest) {}

  // The hash parameter of the functions below.
  [[nodiscard]] static std::uint32_t hash(KeyView<Key> key) {
    const auto wide = static_cast<std::uint64_t>(KeyTraits<Key>::hash(key));
    return static_cast<std::uint32_t>((wide ^ wide >> 32) * 0x9e37'79b9'7f4a'7c15U >> 32);
  }

  // kNone when the key is not in the table.
  [[nodiscard]] Index find(KeyView<Key> key, std::uint32_t hash) const {
    for (std::size_t at = home(hash);; at = next(at)) {
      const Cell cell = cells_[at];
      if (cell.index == kNone) return kNone;
      if (cell.hash == hash && entry(cell.index).key == key) return cell.index;
    }
  }
  [[nodiscard]] Index find(KeyView<Key> key) const { return find(key, hash(key)); }

  // REQUIRES: the key is not in the table; size() < kMost. The value is that of the entry's last
  // use.
  // always_inline: see NodeList.
  [[gnu::always_inline]] Index insert(KeyView<Key> key, std::uint32_t hash) {
    DAMPER_CHECK(size_ < kMost);
    if ((size_ + 1) * 2 > cells_.size()) rehash(cells_.size() * 2);
    if (free_ == kNone) grow();
    const Index index = free_;
    Entry& added = entry(index);
    added.key = key;  // May throw: nothing has changed.
    free_ = added.hash;
    added.hash = hash;
    ++size_;
    place({hash, index});
    return index;
  }

  // REQUIRES: the entry is in use.
  void erase(Index index) noexcept {
    Entry& erased = entry(index);
    if constexpr (!kKeepsKey) erased.key = Key{};
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
  // The number of allocated entries: an Index is less.
  [[nodiscard]] std::size_t entries() const noexcept { return chunks_.size() * kChunk; }

 private:
  struct Cell {
    std::uint32_t hash = 0;
    Index index = kNone;
  };
  struct Entry {
    Key key{};
    Value value{};
    std::uint32_t hash = 0;  // of a free entry: the next free entry
  };
  static constexpr bool kKeepsKey =
      std::is_same_v<Key, std::string> || std::is_trivially_destructible_v<Key>;
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
