#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "damper/base/atomic.h"

namespace damper {

// A Seqlock<T> is a value that many threads copy on every call and that is rarely replaced.
//
// Why: a policy is read by each call and changed a few times a day. A shared_ptr costs two
// contended atomic operations a call; a retired-pointer list grows. Here a read is a handful of
// plain loads and memory is constant.
// Model: a version counter, odd while a store is under way, around the words of T; a reader copies
// the words and starts again when the version moved (Boehm, "Can seqlocks get along with
// programming language memory models?", MSPC 2012).
// Invariants:
//   (1) load() returns a T that was stored as a whole, never a mixture of two.
//   (2) Concurrent stores leave one of their values, whole.
// Thread safety: all methods may be called concurrently. A reader only repeats itself while a
// store is under way; a store waits for another store by repeating its compare-and-swap.
template <class T>
class Seqlock {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Seqlock(const T& value = T{}) noexcept { store(value); }
  Seqlock(const Seqlock&) = delete;
  Seqlock& operator=(const Seqlock&) = delete;

  [[nodiscard]] T load() const noexcept {
    T value;
    for (;;) {
      const std::uint64_t before = version_.load(std::memory_order_acquire);
      if ((before & 1) != 0) continue;
        // Word by word into its place: copying through a buffer would read in one piece what was
        // just written in two, which a processor cannot forward.
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kWords; ++i) {
        const std::uint64_t word = words_[i].load(std::memory_order_acquire);  // Then the version.
        std::memcpy(reinterpret_cast<char*>(&value) + i * 8, &word, bytes_of(i));
      }
      if (version_.load(std::memory_order_relaxed) == before) return value;
    }
  }

  void store(const T& value) noexcept {
    Words copy{};
    std::memcpy(copy.data(), &value, sizeof(T));
    std::uint64_t before = version_.load(std::memory_order_relaxed);
    do {
      before &= ~std::uint64_t{1};
    } while (!version_.compare_exchange_weak(before, before + 1, std::memory_order_acquire,
                                             std::memory_order_relaxed));
    for (std::size_t i = 0; i < kWords; ++i) {
      words_[i].store(copy[i], std::memory_order_release);  // After the odd version.
    }
    version_.store(before + 2, std::memory_order_release);
  }

  // How often a value has been stored; the first one counts.
  [[nodiscard]] std::uint64_t version() const noexcept {
    return version_.load(std::memory_order_relaxed) / 2;
  }

 private:
  static constexpr std::size_t kWords = (sizeof(T) + 7) / 8;
  static constexpr std::size_t bytes_of(std::size_t word) noexcept {
    return word + 1 < kWords || sizeof(T) % 8 == 0 ? 8 : sizeof(T) % 8;
  }
  using Words = std::array<std::uint64_t, kWords>;

  Atomic<std::uint64_t> version_{0};
  std::array<Atomic<std::uint64_t>, kWords> words_{};
};

}  // namespace damper
