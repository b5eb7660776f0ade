#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/admit/reason.h"
#include "damper/base/atomic.h"
#include "damper/base/enum_names.h"
#include "damper/base/instant.h"
#include "damper/base/seqlock.h"

namespace damper::admit {

// The table of switches: admin API, etcd keys, `damper ctl` and metrics all follow it.
enum class Switch : std::uint8_t { retries, hedging };
inline constexpr EnumNames<Switch::hedging> kSwitchNames = {"retries", "hedging"};
[[nodiscard]] constexpr std::string_view name(Switch which) noexcept { return kSwitchNames[which]; }
// A T for each switch.
template <class T>
using PerSwitch = std::array<T, kSwitchNames.size()>;

struct SwitchSetting {
  bool off = false;
  Instant until = kNever;     // off before this instant; kNever: until it is cleared
  std::string_view reason{};  // see Reason
};

struct SwitchStatus {
  bool off = false;
  Duration remaining{0};  // kForever: no expiry; 0 if it is on
  std::string reason;     // empty if it is on
};

// A FlipListener is called when a switch is flipped, by the thread that flips it: a runtime wakes
// the calls that wait in a backoff. A listener is registered with at most one Switches.
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

// Switches are the kill switches of a scope: an operator turns retries or hedging off in an
// incident.
//
// Why: a switch that is read only at the start of a call does not reach the calls that wait in a
// backoff, and these are the storm (trap K1). Hence a switch is cheap enough to be read at every
// decision, and a flip wakes the waiting calls.
// Model: scopes nest by a pointer to the parent: route -> cluster -> process. A switch is off if it
// is off in the scope or in any scope above. A flip calls the listeners of its scope and of the
// scopes above: a listener of the process's Switches is called for every flip below. An expiry
// calls no listener: reads compare it with `now`.
// Invariants:
//   (1) After set() or clear(), every later read in the same thread, and every read inside or after
//       on_flip(), returns the new setting.
//   (2) Of concurrent flips one remains, with its own reason and expiry.
//   (3) Every flip calls every listener that was registered before it began, once.
// Thread safety: all methods may be called concurrently. off() is lock-free. snapshot() repeats
// while a flip writes the reason (a Seqlock), and two flips of one switch wait for each other.
// Parents outlive their children, and listeners outlive their Switches; listeners are never
// removed.
// Cost: retries_off and hedging_off: one load for each scope.
class Switches {
 public:
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

  // This scope's own switch; scopes above are ignored.
  [[nodiscard]] SwitchStatus snapshot(Switch which, Instant now) const;

  // REQUIRES: the listener is not registered yet.
  void listen(FlipListener& listener) noexcept;

 private:
  struct Record {
    Instant off_until = Instant::min();  // the switch is on from this instant
    Reason reason;
  };
  // The record, and a copy of the one word that the hot path reads.
  struct Own {
    [[nodiscard]] Instant off_until() const noexcept {
      return Instant{Duration{word.load(std::memory_order_acquire)}};
    }
    Atomic<std::int64_t> word{Instant::min().time_since_epoch().count()};
    Seqlock<Record> record;
  };

  Switches* const parent_;
  PerSwitch<Own> own_;
  Atomic<FlipListener*> listeners_{nullptr};
};

}  // namespace damper::admit
