#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/bounds.h"
#include "damper/base/enum_names.h"
#include "damper/base/instant.h"
#include "damper/base/percent.h"

namespace damper::admit {

enum class LimitKind : std::uint8_t { fixed, aimd, vegas, gradient };

inline constexpr EnumNames<LimitKind::gradient> kLimitKindNames = {"fixed", "aimd", "vegas",
                                                                   "gradient"};
[[nodiscard]] constexpr std::string_view name(LimitKind kind) noexcept {
  return kLimitKindNames[kind];
}

struct ConcurrencyLimitOptions {
  static constexpr Range<std::int32_t> kLimit{1, 100'000};
  static constexpr Range<std::int32_t> kWindowSamples{1, 500};
  static constexpr Range<Percent> kToleratedDrops{Percent(0), Percent(50)};
  static constexpr Range<Percent> kBackoff{Percent(10), Percent(95)};
  static constexpr Range<Percent> kLatencyTolerance{Percent(100), Percent(1000)};

  LimitKind kind = LimitKind::gradient;
  std::int32_t initial = 20;                 // [min, max]; the limit itself if kind is fixed
  std::int32_t min = 1;                      // kLimit
  std::int32_t max = 1000;                   // [min, kLimit.high]
  std::int32_t window_samples = 10;          // the fewest samples that change the limit
  Percent tolerated_drops = Percent(10);     // a window with a larger share of drops cuts the limit
  Percent backoff = Percent(70);             // to this share of it (0.7 as in CUBIC)
  Percent latency_tolerance = Percent(120);  // of the latency floor: below, no queue (gradient)

  friend bool operator==(const ConcurrencyLimitOptions&, const ConcurrencyLimitOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const ConcurrencyLimitOptions& options);

// A LimitWindow is the summary of a window of samples.
struct LimitWindow {
  std::int32_t answers = 0;  // answered attempts, successes and failures
  std::int32_t drops = 0;    // attempts that ended in a timeout or in overload
  Duration latency{0};       // the mean of the answers
  std::int32_t peak_in_flight = 0;
};

// A LimitControl computes a concurrency limit from measurements, one window at a time.
//
// Why: the right limit is throughput times latency (Little's law), and both move. A limit set by
// hand is wrong after the next deployment.
// Model: a window with more drops than tolerated multiplies the limit by `backoff`, whatever the
// algorithm; but drops that do not follow the limit are not held against it (below). Otherwise, and
// only when at least half of the limit was in use:
//   aimd      grows by one (Chiu and Jain, 1989).
//   vegas     estimates the queue, limit * (1 - floor / latency), and steers it to 6 steps, a step
//             being log10(limit), or an eighth of the limit if that is more; a short queue grows it
//             faster (Brakmo and Peterson, "TCP Vegas", 1994; the steps are those of Netflix'
//             concurrency-limits). It never rests below, where it could be held down for good by a
//             floor learnt too low.
//   gradient  moves a fifth of the way to limit * clamp(tolerance * floor / latency, 0.5, 1) +
//             sqrt(limit) (Netflix' Gradient2 for the shape, Envoy's adaptive concurrency for the
//             headroom). Gradient2's baseline is the average latency, which takes a standing queue
//             for normal after a while and then grows to the maximum; here it is the floor.
// The floor is the latency without a queue caused by this client. No phase measures it. A lower
// latency pulls it down by an eighth of the distance (and while it is over a quarter lower, the
// limit does not grow); latency seen with less than half of the limit in use pulls it either way,
// by a sixteenth; and when the limit has moved by a fifth and latency did not follow by half as
// much, then latency has another cause, and the floor moves half way up to it; after a second cut
// in a row without an effect, all the way. In a steady state it does not move, so that a lasting
// queue never becomes the floor.
// The drop floor is the share of drops that has another cause than this limit: if one of eight
// replicas is dead, an eighth of the attempts time out, however few are sent. If they lowered the
// limit, it would fall to its minimum, and a partial failure would be an outage. A cut is therefore
// followed by a comparison, over at least 50 samples, in which the limit does not grow: if neither
// the share of drops fell nor that of answers rose by half as much as the limit fell (the rule for
// latency), what is left is the floor; otherwise the floor is halved, and at most what is left.
// With a floor, drops are too many if those of the window, or of the last 200 samples, exceed it by
// the tolerated share and by three standard deviations of the floor's own noise, or if they are two
// thirds of the window. The floor is at most a half; it falls with the drops, over 200 samples.
// A limit that fell returns as TCP does, by slow start: a window in use without a queue doubles it,
// up to half of what it was before the first of the cuts by drops, or up to all of it if latency
// was found not to follow the limit. Without this, a limit that an hour without answers has brought
// to its minimum holds traffic back for half a minute after the hour.
// Known weakness: of many clients that overload a dependency together, one that cuts alone sees no
// effect. They see the same overload at the same time, though, and cut together.
// Known weakness: a control that starts in the middle of an overload takes its first window for
// the floor until drops or a lull show it a lower one.
// Invariants:
//   (1) min <= limit <= max.
//   (2) A window of drops alone never raises the limit, and lowers it until it is min.
//   (3) The limit grows only in a window with at least half of it in use.
//   (4) With constant latency and few drops the limit never falls.
//   (5) A fixed limit never moves.
// Thread safety: none; ConcurrencyLimit calls it from one thread at a time.
class LimitControl {
 public:
  // REQUIRES: !find_error(options).
  explicit LimitControl(const ConcurrencyLimitOptions& options) noexcept;

  void on_window(const LimitWindow& window) noexcept;

  // Takes over the limit, held within the new bounds, and what was learnt; a limit that is now
  // fixed is the new `initial`. REQUIRES: !find_error(options).
  void reload(const ConcurrencyLimitOptions& options) noexcept;

  [[nodiscard]] std::int32_t limit() const noexcept { return static_cast<std::int32_t>(limit_); }
  [[nodiscard]] const ConcurrencyLimitOptions& options() const noexcept { return options_; }

 private:
  // Samples of windows, and how many of them were dropped.
  struct Pool {
    double drops = 0;
    double total = 0;

    void add(const LimitWindow& window) noexcept {
      drops += window.drops;
      total += static_cast<double>(window.answers) + window.drops;
    }
    [[nodiscard]] double share() const noexcept { return total > 0 ? drops / total : 0; }
  };

  void cut() noexcept;
  void learn_drops(const LimitWindow& window) noexcept;
  [[nodiscard]] bool has_too_many_drops(const LimitWindow& window) const noexcept;
  void learn(double latency, bool in_use) noexcept;
  void compare(double latency) noexcept;
  [[nodiscard]] double next(double latency) const noexcept;
  [[nodiscard]] double vegas(double latency) const noexcept;
  [[nodiscard]] double gradient(double latency) const noexcept;
  void move_to(double limit) noexcept;

  ConcurrencyLimitOptions options_;
  double limit_;                 // Fractions add up over windows.
  double floor_ = 0;             // Nanoseconds; 0: nothing learnt.
  double compared_limit_ = 0;    // The limit and the latency that the next comparison is with;
  double compared_latency_ = 0;  // 0: none yet.
  double drop_floor_ = 0;        // The share of drops that does not follow the limit.
  Pool usual_;                   // The last 200 samples or so.
  bool cut_in_vain_ = false;     // The last comparison: a lower limit did not lower latency.
  double returns_to_ = 0;        // Below, the limit doubles (slow start).
  bool falling_ = false;         // The last window was a cut by drops.
  double cut_limit_ = 0;         // The limit and the share of drops before a cut by drops;
  double cut_share_ = 0;         // 0: none is being compared.
  Pool after_cut_;
  double after_limits_ = 0;  // The limit of each sample after the cut, summed.
};

}  // namespace damper::admit
