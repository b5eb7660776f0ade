#ifndef DAMPER_ADMIT_SWITCHES_H_
#define DAMPER_ADMIT_SWITCHES_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/base/seqlock.h"

namespace damper::admit {

enum class Switch : std::uint8_t { retries, hedging };
inline constexpr std::array<std::string_view, 2> kSwitchNames = {"retries", "hedging"};
[[nodiscard]] constexpr std::string_view name(Switch which) noexcept {
  return kSwitchNames[static_cast<std::size_t>(which)];
}

struct SwitchSetting {
  bool off = false;
  Instant until = kNever;     // off before it, on from then on; kNever: until it is cleared
  std::string_view reason{};  // kept up to 120 bytes, cut at the end of a UTF-8 character
};

struct SwitchStatus {
  bool off = false;
  Duration remaining{0};  // kForever: no expiry; 0 when it is on
  std::string reason;     // empty when it is on
};

// A FlipListener is told at once that a switch was flipped, by the thread that flips it: a runtime
// wakes the calls that wait in a backoff, and they look again. It listens to one Switches at most.
class FlipListener {
 public:
  FlipListener() = default;
  FlipListener(const FlipListener&) = delete;
  FlipListener& operator=(const FlipListener&) = delete;
  virtual ~FlipListener() = default;
  virtual void on_flip() noexcept = 0;

 private:
  friend class Switches;
  FlipListener* next_ = nullptr;
};

// Switches are what an operator turns off in an incident: retries, hedging.
//
// Why: a switch that is read last, or only when a call begins, does not reach the calls that wait
// in a backoff, which are the storm (trap K1). Hence it is cheap enough to be read at every
// decision, and a flip wakes who waits.
// Model: scopes nest by a pointer to the parent: route -> dependency -> process. Something is off
// when it is off in the scope or in any above. A flip calls the listeners of its scope and of the
// scopes above, so a process-wide parking lot listens once, to the process's Switches, and hears of
// every flip below. An expiry flips nothing: it is part of what is read, and nobody waits for it.
// Invariants:
//   (1) What set() or clear() wrote is what every later read in the same thread, and every read
//       inside or after on_flip(), sees.
//   (2) Of concurrent flips one remains, with its own reason and expiry.
//   (3) Every flip calls every listener that was there before it began, once.
// Thread safety: all methods may be called concurrently; reads are lock-free. Parents outlive their
// children, listeners the Switches that they listen to; listeners are never removed.
// Cost: retries_off and hedging_off: one load for each scope.
class Switches {
 public:
  static constexpr std::size_t kLongestReason = 120;

  explicit Switches(Switches* parent = nullptr) noexcept : parent_(parent) {}
  Switches(const Switches&) = delete;
  Switches& operator=(const Switches&) = delete;

  [[nodiscard]] bool retries_off(Instant now) const noexcept { return off(Switch::retries, now); }
  [[nodiscard]] bool hedging_off(Instant now) const noexcept { return off(Switch::hedging, now); }
  [[nodiscard]] bool off(Switch which, Instant now) const noexcept {
    const auto i = static_cast<std::size_t>(which);
    for (const Switches* scope = this; scope != nullptr; scope = scope->parent_) {
      if (now < scope->own_[i].off_until()) return true;
    }
    return false;
  }

  void set(Switch which, const SwitchSetting& setting) noexcept;
  void clear(Switch which) noexcept { set(which, {}); }

  // This scope's own switch, whatever is off above it.
  [[nodiscard]] SwitchStatus snapshot(Switch which, Instant now) const;

  // REQUIRES: the listener listens nowhere yet.
  void listen(FlipListener& listener) noexcept;

 private:
  struct Record {
    Instant off_until = Instant::min();  // the switch is on from here
    std::uint8_t length = 0;
    std::array<char, kLongestReason> reason{};
  };
  // The record, and beside it the one word of it that the hot path reads.
  struct Own {
    [[nodiscard]] Instant off_until() const noexcept {
      return Instant{Duration{word.load(std::memory_order_acquire)}};
    }
    std::atomic<std::int64_t> word{Instant::min().time_since_epoch().count()};
    Seqlock<Record> record;
  };

  Switches* const parent_;
  std::array<Own, 2> own_;
  std::atomic<FlipListener*> listeners_{nullptr};
};

}  // namespace damper::admit

#endif  // DAMPER_ADMIT_SWITCHES_H_
