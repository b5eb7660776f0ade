#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "damper/base/sharded_counters.h"
#include "damper/base/slot_ring.h"
#include "damper/base/verdict.h"
#include "damper/decide/outcome.h"

namespace damper::engine {

// A Tally is a snapshot of the counters of one dependency, as plain numbers, for a metrics page, a
// log line or a test.
struct Tally {
  std::uint64_t started = 0;                                          // calls
  std::uint64_t finished = 0;                                         // calls
  std::array<std::uint64_t, kVerdictNames.size()> verdicts{};         // finished calls
  std::array<std::uint64_t, decide::kOutcomeNames.size()> retries{};  // by what made them needed
  std::uint64_t hedges = 0;
  std::uint64_t hedges_won = 0;         // the hedge answered first
  std::uint64_t hedges_suppressed = 0;  // due, but not admitted
  std::uint64_t attempts = 0;
  std::uint64_t budget_refusals = 0;

  // Taken at slightly different moments, so it can be off by the calls that ended in between.
  [[nodiscard]] std::uint64_t in_flight() const noexcept {
    return started > finished ? started - finished : 0;
  }
  [[nodiscard]] std::uint64_t of(Verdict verdict) const noexcept {
    return verdicts[static_cast<std::size_t>(verdict)];
  }
  [[nodiscard]] std::uint64_t retries_for(decide::Outcome outcome) const noexcept {
    return retries[static_cast<std::size_t>(outcome)];
  }
  [[nodiscard]] std::uint64_t all_retries() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : retries) sum += count;
    return sum;
  }
};

// The counters behind a Tally. A call that succeeds at once costs two adds: a number that can be
// derived from others is not counted. Small: one copy, 32-bit cells.
template <Footprint kFootprint>
class BasicCounters {
 public:
  void on_start() noexcept { cells_.add(kStarted); }
  void on_finish(Verdict verdict) noexcept {
    cells_.add(kFinished);
    if (verdict != Verdict::success) cells_.add(kVerdict + static_cast<int>(verdict));
  }
  // The first attempt was refused, or waits for a token and is not sent yet.
  void on_unsent() noexcept { cells_.add(kUnsent); }
  // After on_unsent(): it has its token.
  void on_sent_later() noexcept {
    if constexpr (kWaits) cells_.add(kSentLater);
  }
  void on_retry(decide::Outcome why) noexcept { cells_.add(kRetry + static_cast<int>(why)); }
  void on_hedge() noexcept { cells_.add(kHedges); }
  void on_hedge_won() noexcept { cells_.add(kHedgesWon); }
  void on_hedge_suppressed() noexcept { cells_.add(kHedgesSuppressed); }
  void on_budget_refusal() noexcept { cells_.add(kBudgetRefusals); }

  [[nodiscard]] std::int64_t in_flight() const noexcept {
    const std::uint64_t finished = cells_.sum(kFinished);  // First: never more than started.
    return static_cast<std::int64_t>(static_cast<Word>(cells_.sum(kStarted) - finished));
  }

  [[nodiscard]] Tally read() const noexcept {
    Tally tally;
    std::uint64_t others = 0;
    for (std::size_t i = 0; i < tally.verdicts.size(); ++i) {
      others += tally.verdicts[i] = cells_.sum(kVerdict + static_cast<int>(i));
    }
    for (std::size_t i = 0; i < tally.retries.size(); ++i) {
      tally.retries[i] = cells_.sum(kRetry + static_cast<int>(i));
    }
    tally.hedges = cells_.sum(kHedges);
    tally.hedges_won = cells_.sum(kHedgesWon);
    tally.hedges_suppressed = cells_.sum(kHedgesSuppressed);
    tally.budget_refusals = cells_.sum(kBudgetRefusals);
    std::uint64_t sent = 0;  // first attempts
    if constexpr (kWaits) sent = cells_.sum(kSentLater);
    sent -= cells_.sum(kUnsent);
    tally.finished = cells_.sum(kFinished);
    tally.started = cells_.sum(kStarted);
    tally.verdicts[static_cast<std::size_t>(Verdict::success)] =
        tally.finished > others ? tally.finished - others : 0;
    sent += tally.started;
    tally.attempts = sent + tally.all_retries() + tally.hedges;
    return tally;
  }

 private:
  // Which cell counts what.
  static constexpr int kStarted = 0;
  static constexpr int kFinished = 1;
  static constexpr int kUnsent = 2;
  static constexpr int kHedges = 3;
  static constexpr int kHedgesWon = 4;
  static constexpr int kHedgesSuppressed = 5;
  static constexpr int kBudgetRefusals = 6;
  static constexpr int kVerdict = 7;
  static constexpr int kRetry = kVerdict + static_cast<int>(kVerdictNames.size());
  static constexpr int kSentLater = kRetry + static_cast<int>(decide::kOutcomeNames.size());
  static constexpr bool kWaits = kFootprint == Footprint::large;  // A small one has no rate.
  static constexpr int kCells = kSentLater + (kWaits ? 1 : 0);

  using Cells = std::conditional_t<kFootprint == Footprint::large, ShardedCounters<kCells>,
                                   PlainCounters<kCells>>;
  using Word = typename Cells::Word;

  Cells cells_;
};

using Counters = BasicCounters<Footprint::large>;

}  // namespace damper::engine
