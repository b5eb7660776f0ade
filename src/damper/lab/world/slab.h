#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "damper/base/check.h"

namespace damper::lab {

// A Handle names one value in a Slab, until that value is erased; then it names nothing, also
// if another value has taken the cell.
struct Handle {
  std::uint32_t index = UINT32_MAX;
  std::uint32_t generation = 0;

  [[nodiscard]] std::uint64_t word() const noexcept {
    return std::uint64_t{generation} << 32 | index;
  }
  [[nodiscard]] static Handle of(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
  }
  friend bool operator==(Handle, Handle) = default;
};

// A Slab holds millions of short-lived values, and never moves one.
//
// Why: events refer to a call or a message that may be over by then. A pointer would dangle; a map
// would cost a search.
// Model: chunks of cells, a LIFO list of the free ones, and a generation for each cell, incremented
// when its value is erased.
// Invariants:
//   (1) find() never returns a value other than the one the handle was made for (until one cell
//       has been used four billion times).
//   (2) The same operations give the same handles.
// Thread safety: none. Cost: no allocation but for a chunk when all cells are taken.
template <class T>
class Slab {
 public:
  Slab() = default;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  ~Slab() {
    for (std::size_t i = 0; i < chunks_.size() * kChunk; ++i) {
      Cell& cell = at(static_cast<std::uint32_t>(i));
      if (cell.alive) value(cell)->~T();
    }
  }

  template <class... Arguments>
  Handle insert(Arguments&&... arguments) {
    if (free_ == kNone) grow();
    const std::uint32_t index = free_;
    Cell& cell = at(index);
    free_ = cell.next_free;
    new (cell.bytes) T(std::forward<Arguments>(arguments)...);
    cell.alive = true;
    ++size_;
    return {index, cell.generation};
  }

  // Null when it is gone.
  [[nodiscard]] T* find(Handle handle) noexcept {
    if (handle.index >= chunks_.size() * kChunk) return nullptr;
    Cell& cell = at(handle.index);
    return cell.alive && cell.generation == handle.generation ? value(cell) : nullptr;
  }

  // REQUIRES: it is there.
  void erase(Handle handle) noexcept {
    DAMPER_CHECK(find(handle) != nullptr);
    Cell& cell = at(handle.index);
    value(cell)->~T();
    cell.alive = false;
    ++cell.generation;
    cell.next_free = free_;
    free_ = handle.index;
    --size_;
  }

  // Calls visit(handle, value) for each, in the order of their cells. It must not insert or erase.
  template <class Visit>
  void for_each(Visit visit) {
    for (std::size_t i = 0; i < chunks_.size() * kChunk; ++i) {
      const auto index = static_cast<std::uint32_t>(i);
      Cell& cell = at(index);
      if (cell.alive) visit(Handle{index, cell.generation}, *value(cell));
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kChunk = 1024;

  struct Cell {
    alignas(T) std::byte bytes[sizeof(T)];
    std::uint32_t generation = 0;
    std::uint32_t next_free = kNone;
    bool alive = false;
  };

  [[nodiscard]] Cell& at(std::uint32_t index) noexcept {
    return chunks_[index / kChunk][index % kChunk];
  }
  static T* value(Cell& cell) noexcept { return std::launder(reinterpret_cast<T*>(cell.bytes)); }

  void grow() {
    DAMPER_CHECK((chunks_.size() + 1) * kChunk < kNone);
    const auto first = static_cast<std::uint32_t>(chunks_.size() * kChunk);
    chunks_.push_back(std::make_unique<Cell[]>(kChunk));
    for (std::uint32_t i = kChunk; i-- > 0;) {
      at(first + i).next_free = free_;
      free_ = first + i;
    }
  }

  std::vector<std::unique_ptr<Cell[]>> chunks_;
  std::uint32_t free_ = kNone;
  std::size_t size_ = 0;
};

}  // namespace damper::lab
