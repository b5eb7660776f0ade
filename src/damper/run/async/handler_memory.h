#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>

namespace damper::run {

// HandlerMemory is where an Asio operation of an object's keeps its handler while it waits: in the
// object itself. What does not fit, or comes while all is in use, is allocated.
//
// Why: a timer that is set again has two operations for a moment, the cancelled one among them, and
// Asio's own cache is shared by everything else on the thread.
// Thread safety: all methods may be called concurrently: Asio gives memory back on the thread that
// completes an operation, before it goes to the handler's executor.
class HandlerMemory {
 public:
  static constexpr std::size_t kSize = 256;

  HandlerMemory() = default;
  HandlerMemory(const HandlerMemory&) = delete;
  HandlerMemory& operator=(const HandlerMemory&) = delete;

  // For the handler: `bind_allocator(memory.allocator(), handler)`. The handler keeps the object.
  template <class T>
  class Allocator {
   public:
    using value_type = T;

    explicit Allocator(HandlerMemory& memory) noexcept : memory_(&memory) {}
    template <class U>
    Allocator(const Allocator<U>& other) noexcept : memory_(other.memory_) {}

    T* allocate(std::size_t count) { return static_cast<T*>(memory_->allocate(sizeof(T) * count)); }
    void deallocate(T* object, std::size_t) noexcept { memory_->deallocate(object); }
    template <class U>
    friend bool operator==(const Allocator& a, const Allocator<U>& b) noexcept {
      return a.memory_ == b.memory_;
    }

   private:
    template <class>
    friend class Allocator;
    HandlerMemory* memory_;
  };
  [[nodiscard]] Allocator<std::byte> allocator() noexcept { return Allocator<std::byte>(*this); }

 private:
  struct Slot {
    alignas(std::max_align_t) std::array<std::byte, kSize> bytes;
    std::atomic<bool> used{false};
  };

  void* allocate(std::size_t size) {
    for (Slot& slot : slots_) {
      if (size <= kSize && !slot.used.exchange(true, std::memory_order_acquire)) {
        return slot.bytes.data();
      }
    }
    return ::operator new(size);
  }
  void deallocate(void* memory) noexcept {
    for (Slot& slot : slots_) {
      if (memory == slot.bytes.data()) return slot.used.store(false, std::memory_order_release);
    }
    ::operator delete(memory);
  }

  std::array<Slot, 2> slots_;
};

}  // namespace damper::run
