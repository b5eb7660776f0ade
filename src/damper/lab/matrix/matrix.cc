#include "damper/lab/matrix/matrix.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "damper/base/check.h"
#include "damper/base/text/words.h"
#include "damper/lab/runs/measure.h"
#include "damper/lab/runs/workers.h"
#include "damper/lab/world/world.h"

namespace damper::lab {
namespace {

constexpr double kLeastGoodput = 0.98;
constexpr double kBackWithin = 10;       // s
constexpr double kSameAttempts = 0.001;  // of requests that end in another order, at the run's end
constexpr int kMostMatrixRuns = 1000;

// What a run is judged by.
struct Score {
  double goodput = 0;
  double attempts = 0;
  double back = 0;  // s; NaN: the trouble has no end
  bool cut_short = false;
};

// The share of the healthy objects, over time, whose last run did not fail.
double objects_in_order(const ControllersSpec& spec, const ControllersRecord& record) {
  const double objects = spec.count * static_cast<double>(spec.keys - spec.broken_keys);
  double good = 0;
  for (const ControllersTick& tick : record.ticks) {
    good += std::max(0.0, objects - tick.failing) / objects;
  }
  return good;
}

// The seconds from the end of the last fault to the instant from which on 99 % of the requests
// succeed, those until the end of the run taken together. The measure `back_after` asks for 99 % in
// every second: at 80 requests a second, one refusal a minute later counts, and a shed queue makes
// such refusals without any trouble, too.
double back_for_good(const Scenario& scenario, const ClientsRecord& clients, Duration bucket) {
  Duration over{0};
  for (const FaultSpec& fault : scenario.faults) over = std::max(over, fault.end());
  const auto start = static_cast<std::size_t>((over + bucket - Duration{1}) / bucket);
  std::size_t back = clients.ticks.size();
  std::int64_t offered = 0;
  std::int64_t succeeded = 0;
  for (std::size_t i = clients.ticks.size(); i > start; --i) {
    offered += clients.ticks[i - 1].requests;
    succeeded += clients.ticks[i - 1].succeeded;
    const std::int64_t before = i > 1 ? clients.ticks[i - 2].in_flight : 0;
    const std::int64_t failed = before + offered - succeeded - clients.ticks.back().in_flight;
    if (failed * 100 <= before + offered) back = i - 1;
  }
  return std::chrono::duration<double>(bucket * static_cast<std::int64_t>(back - start)).count();
}

double back_of(const Scenario& scenario, const Record& record) {
  if (scenario.faults.empty()) return std::nan("");
  if (record.clients.empty()) return find_measure("back_after")->of(scenario, record);
  return back_for_good(scenario, record.clients.front(), record.bucket);
}

Score score_of(const Scenario& scenario, const Record& record) {
  Score score{.back = back_of(scenario, record)};
  score.cut_short = record.cut_short;
  if (!record.clients.empty()) {
    score.goodput = static_cast<double>(record.clients.front().succeeded);
    score.attempts = static_cast<double>(record.clients.front().attempts);
  } else {
    score.goodput = objects_in_order(scenario.controllers.front(), record.controllers.front());
    score.attempts = static_cast<double>(record.controllers.front().runs);
  }
  return score;
}

// `with` and `without` have a score for each seed.
HarmCell judge(const Defence& defence, std::span<const Score> with,
               std::span<const Score> without) {
  HarmCell cell;
  Summary later;
  for (std::size_t i = 0; i < with.size(); ++i) {
    if (without[i].goodput > 0) cell.goodput.value.add(with[i].goodput / without[i].goodput);
    if (without[i].attempts > 0) cell.attempts.value.add(with[i].attempts / without[i].attempts);
    if (std::isnan(with[i].back)) continue;
    cell.back.value.add(with[i].back);
    later.add(with[i].back - std::max(without[i].back, kBackWithin));
  }
  cell.goodput.broken = cell.goodput.value.n() > 0 && cell.goodput.value.mean() < kLeastGoodput;
  cell.attempts.broken = cell.attempts.value.mean() > 1 + defence.more_attempts + kSameAttempts;
  cell.back.broken = later.mean() > 0;
  return cell;
}

// Those of `all` that are named; all of them if none is.
template <class T>
Expected<std::vector<T>> chosen(std::span<const T> all, const std::vector<std::string>& names,
                                std::string_view what) {
  if (names.empty()) return std::vector<T>(all.begin(), all.end());
  std::vector<T> found;
  std::vector<std::string_view> known;
  for (const T& each : all) known.push_back(each.name);
  for (const std::string& name : names) {
    const auto at = std::ranges::find(all, name, &T::name);
    if (at == all.end()) {
      return unexpected("there is no " + std::string(what) + ' ' + text::in_quotes(name) +
                        text::suggestion(name, known) + " (there are: " + text::joined(known) +
                        ")");
    }
    found.push_back(*at);
  }
  return found;
}

// A column of the matrix for one trouble: the scenario, with one defence or without any.
struct Variant {
  Scenario scenario;
  std::size_t trouble = 0;
  std::optional<std::size_t> defence{};
};

std::vector<Variant> variants_of(const HarmMatrix& matrix) {
  std::vector<Variant> variants;
  for (std::size_t t = 0; t < matrix.troubles.size(); ++t) {
    const Scenario plain = matrix.troubles[t].make();
    DAMPER_CHECK(!find_error(plain));
    variants.push_back({.scenario = plain, .trouble = t});
    for (std::size_t d = 0; d < matrix.defences.size(); ++d) {
      if (!applies(matrix.defences[d], plain)) continue;
      Variant& guarded = variants.emplace_back(Variant{plain, t, d});
      matrix.defences[d].add(guarded.scenario);
      DAMPER_CHECK(!find_error(guarded.scenario));
    }
  }
  return variants;
}

}  // namespace

std::string_view known_reason(const HarmCell& cell, std::string_view defence,
                              std::string_view trouble) {
  const auto excuses = [](std::string_view rules, char sign, const HarmRule& rule) {
    return !rule.broken || rules.find(sign) != rules.npos;
  };
  for (const KnownHarm& harm : known_harms()) {
    if (harm.defence != defence || harm.trouble != trouble) continue;
    const policy::HarmText& reason = policy::text_of(harm.reason);
    if (excuses(reason.rules, 'g', cell.goodput) && excuses(reason.rules, 'b', cell.back) &&
        excuses(reason.rules, 'a', cell.attempts)) {
      return reason.text;
    }
  }
  return {};
}

const HarmCell* HarmMatrix::find(std::size_t trouble, std::size_t defence) const {
  const auto found = std::ranges::find_if(cells, [&](const HarmCell& cell) {
    return cell.trouble == trouble && cell.defence == defence;
  });
  return found == cells.end() ? nullptr : &*found;
}

std::size_t HarmMatrix::unexplained() const {
  return static_cast<std::size_t>(std::ranges::count_if(cells, &HarmCell::is_unexplained));
}

Expected<HarmMatrix> play_matrix(const MatrixOptions& options) {
  if (options.runs < 1 || options.runs > kMostMatrixRuns) {
    return unexpected("runs is " + std::to_string(options.runs) + "; it must be from 1 to " +
                      std::to_string(kMostMatrixRuns));
  }
  auto rows = chosen(troubles(), options.troubles, "trouble");
  if (!rows) return unexpected(rows.error());
  auto columns = chosen(defences(), options.defences, "defence");
  if (!columns) return unexpected(columns.error());
  HarmMatrix matrix{.defences = std::move(*columns),
                    .troubles = std::move(*rows),
                    .runs = options.runs,
                    .seed = options.seed};
  const std::vector<Variant> variants = variants_of(matrix);
  const auto seeds = static_cast<std::size_t>(options.runs);
  std::vector<Score> scores(variants.size() * seeds);  // by variant, then by seed
  const std::size_t done = run_parallel(
      {.count = scores.size(),
       .threads = options.threads,
       .stop = options.stop,
       .on_progress = options.on_progress},
      [&](std::size_t index) {
        const Scenario& scenario = variants[index / seeds].scenario;
        scores[index] = score_of(scenario, play(scenario, {.seed = options.seed + index % seeds,
                                                           .latency_over_time = false,
                                                           .stop = options.stop}));
      });
  // A run that the stop flag ended early is not whole: cells are left out from the first one on.
  const auto cut = std::find_if(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(done),
                                [](const Score& score) { return score.cut_short; });
  const std::size_t whole = static_cast<std::size_t>(cut - scores.begin()) / seeds;
  matrix.interrupted = whole < variants.size();
  const std::span all(scores);
  std::size_t without = 0;
  for (std::size_t i = 0; i < whole; ++i) {
    const Variant& variant = variants[i];
    if (!variant.defence) {
      without = i;
      continue;
    }
    const Defence& defence = matrix.defences[*variant.defence];
    HarmCell& cell = matrix.cells.emplace_back(
        judge(defence, all.subspan(i * seeds, seeds), all.subspan(without * seeds, seeds)));
    cell.defence = *variant.defence;
    cell.trouble = variant.trouble;
    if (!cell.holds()) {
      cell.reason = known_reason(cell, defence.name, matrix.troubles[variant.trouble].name);
    }
  }
  return matrix;
}

}  // namespace damper::lab
