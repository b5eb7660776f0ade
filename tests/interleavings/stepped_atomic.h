#pragma once

#include <atomic>

namespace damper {

// A Stepper is called before each operation on a SteppedAtomic, and may run another thread first.
class Stepper {
 public:
  Stepper() = default;
  Stepper(const Stepper&) = delete;
  Stepper& operator=(const Stepper&) = delete;
  virtual ~Stepper() = default;
  virtual void on_step(const void* address) noexcept = 0;
  // The operation changed the value: the thread does not wait in a loop.
  virtual void on_change() noexcept = 0;

  // Of the running test; null: operations are no steps.
  static inline Stepper* current = nullptr;
};

// A SteppedAtomic<T> has the operations of std::atomic<T> that the tree uses, for tests in which
// one thread runs at a time: a value, and a step before each operation. Memory orders are ignored:
// every interleaving is sequentially consistent. A weak compare-and-swap never fails by itself.
template <class T>
class SteppedAtomic {
 public:
  constexpr SteppedAtomic() noexcept = default;
  constexpr SteppedAtomic(T value) noexcept  // NOLINT(google-explicit-constructor): as std::atomic
      : value_(value) {}
  SteppedAtomic(const SteppedAtomic&) = delete;
  SteppedAtomic& operator=(const SteppedAtomic&) = delete;

  T load(std::memory_order /*order*/ = std::memory_order_seq_cst) const noexcept {
    step();
    return value_;
  }
  void store(T value, std::memory_order /*order*/ = std::memory_order_seq_cst) noexcept {
    step();
    set(value);
  }
  T exchange(T value, std::memory_order /*order*/ = std::memory_order_seq_cst) noexcept {
    step();
    const T before = value_;
    if (!(before == value)) set(value);
    return before;
  }
  bool compare_exchange_strong(T& expected, T desired,
                               std::memory_order /*success*/ = std::memory_order_seq_cst,
                               std::memory_order /*failure*/ = std::memory_order_seq_cst) noexcept {
    step();
    if (!(value_ == expected)) {
      expected = value_;
      return false;
    }
    set(desired);
    return true;
  }
  bool compare_exchange_weak(T& expected, T desired,
                             std::memory_order success = std::memory_order_seq_cst,
                             std::memory_order failure = std::memory_order_seq_cst) noexcept {
    return compare_exchange_strong(expected, desired, success, failure);
  }
  T fetch_add(T delta, std::memory_order /*order*/ = std::memory_order_seq_cst) noexcept {
    return change(static_cast<T>(value_after_step() + delta));
  }
  T fetch_sub(T delta, std::memory_order /*order*/ = std::memory_order_seq_cst) noexcept {
    return change(static_cast<T>(value_after_step() - delta));
  }
  T fetch_or(T bits, std::memory_order /*order*/ = std::memory_order_seq_cst) noexcept {
    return change(static_cast<T>(value_after_step() | bits));
  }
  T fetch_and(T bits, std::memory_order /*order*/ = std::memory_order_seq_cst) noexcept {
    return change(static_cast<T>(value_after_step() & bits));
  }

 private:
  void step() const noexcept {
    if (Stepper::current != nullptr) Stepper::current->on_step(this);
  }
  T value_after_step() const noexcept {
    step();
    return value_;
  }
  T change(T value) noexcept {
    const T before = value_;
    set(value);
    return before;
  }
  void set(T value) noexcept {
    value_ = value;
    if (Stepper::current != nullptr) Stepper::current->on_change();
  }

  T value_{};
};

}  // namespace damper
