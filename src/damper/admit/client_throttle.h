#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "damper/base/bounds.h"
#include "damper/base/instant.h"
#include "damper/base/percent.h"
#include "damper/base/seqlock.h"
#include "damper/base/slot_ring.h"

namespace damper::admit {

struct ClientThrottleOptions {
  static constexpr Range<Percent> kMultiplier{Percent(100), Percent(1000)};
  static constexpr Range<Duration> kWindow{std::chrono::seconds(1), std::chrono::hours(1)};
  static constexpr Range<std::int32_t> kMinimumVolume{1, 1'000'000};
  static constexpr Range<Percent> kMaxRejected{Percent::from_hundredths(1), Percent(100)};

  Percent multiplier = Percent(200);  // K of the SRE book, as a percentage
  Duration window = std::chrono::seconds(120);
  std::int32_t minimum_volume = 20;    // requests in the window before any is refused
  Percent max_rejected = Percent(92);  // bound of the probability; the rest finds the recovery

  friend bool operator==(const ClientThrottleOptions&, const ClientThrottleOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const ClientThrottleOptions& options);

// A ClientThrottle refuses calls at the client when the dependency rejects too many of them.
//
// Why: rejecting costs an overloaded server too; past some load it does nothing else. A client
// that sees rejections stops asking before its requests leave ("Handling Overload", Site
// Reliability Engineering, O'Reilly 2016).
// Model: over a sliding window of ten slots, a call is refused with the probability
// max(0, (requests - K * accepts) / (requests + 1)). Requests are those that the dependency has
// accepted or rejected, and those that were refused here: the probability follows the demand, and
// settles where about K requests are sent for each accepted one. K = 2 sends twice as many requests
// as are accepted, which is how the client detects that the dependency has recovered. A request in
// flight is not counted yet, since nothing has rejected it: in the book it is, and a cold client
// refuses most of its first concurrent calls to a healthy dependency.
// The formula alone is an outage of its own: after one failure it refuses every second call of a
// cold client, and after a window without accepts it admits one call in `requests`, so that it
// takes minutes to find out that the dependency is well. Therefore nothing is refused below
// `minimum_volume`, never more than `max_rejected`, and never more than the same formula gives for
// the last 4 s alone (kRecent): the past does not outvote the present. If most of what was sent in
// these 4 s was accepted (more than half way from the 1 / K of the steady state to all), K is four
// times as large there: what is admitted quadruples in 4 s until the dependency rejects again.
// Invariants:
//   (1) While requests <= K * accepts nothing is refused, exactly; nor under minimum_volume; nor
//       before the dependency has rejected a request.
//   (2) A call is refused if and only if its draw is under reject_probability(), which is at most
//       max_rejected.
//   (3) Requests and accepts count for one window, however often it is read (trap B3).
//   (4) A reload keeps what was counted within the window.
//   (5) After an outage of any length, a client of 10 calls a second or more admits 90 % again
//       within 10 s.
// Thread safety: all methods may be called concurrently, reload() with all but itself. They take no
// lock, and repeat while a reload() writes the options (a Seqlock).
// Cost: try_admit is 10 loads while nothing was rejected in the window, else at most 50 loads and
// two compare-and-swaps; on_accept and on_reject are two compare-and-swaps.
class ClientThrottle {
 public:
  static constexpr Duration kRecent = std::chrono::seconds(4);

  // REQUIRES: !find_error(options).
  explicit ClientThrottle(const ClientThrottleOptions& options);

  // Admits a request, or refuses and counts it.
  [[nodiscard]] bool try_admit(Instant now, double draw) noexcept;
  // The dependency accepted a request: it answered, and not with a failure.
  void on_accept(Instant now) noexcept;
  // The dependency failed a request. One that was cancelled is neither accepted nor rejected.
  void on_reject(Instant now) noexcept;

  // In [0, 1).
  [[nodiscard]] double reject_probability(Instant now) const noexcept;
  // Whether it refuses at all: hedging is off then.
  [[nodiscard]] bool active(Instant now) const noexcept { return reject_probability(now) > 0; }

  // REQUIRES: !find_error(options).
  void reload(const ClientThrottleOptions& options, Instant now) noexcept;

 private:
  struct Setting {
    SlotClock clock;
    SlotClock recent;
    std::int64_t multiplier = 0;  // in hundredths of a percent, here and below
    std::int64_t max_rejected = 0;
    std::int64_t minimum_volume = 0;
  };
  static Setting setting(const ClientThrottleOptions& options) noexcept;
  [[nodiscard]] double probability(const Setting& setting, Instant now) const noexcept;
  [[nodiscard]] double recent_probability(const Setting& setting, Instant now) const noexcept;

  Seqlock<Setting> setting_;
  SlotRing<> accepts_;
  SlotRing<> unaccepted_;      // rejected or refused
  SlotRing<> recent_accepts_;  // of the last kRecent, as the next two
  SlotRing<> recent_rejects_;
  SlotRing<> recent_refused_;
};

}  // namespace damper::admit
