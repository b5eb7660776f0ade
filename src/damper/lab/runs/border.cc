#include "damper/lab/runs/border.h"

#include <algorithm>

#include "damper/base/check.h"

namespace damper::lab {
namespace {

constexpr int kFirstLook = 20;
constexpr int kLastLook = 640;
constexpr double kWidth = 0.01;  // of the load

enum class Claim : std::uint8_t { safe, sure };

class Search {
 public:
  Search(const CountCollapsed& count, SureBorder& border) : count_(count), border_(border) {}

  // Finds one end with at most `most_runs` more runs. `start` is the first candidate; the next one
  // outwards is one position down (safe) or up (sure).
  std::optional<BorderEnd> find(Claim claim, std::span<const double> loads, std::size_t start,
                                int most_runs) {
    left_ = most_runs;
    const bool down = claim == Claim::safe;
    std::optional<double> fails;
    if (down && start + 1 < loads.size()) fails = loads[start + 1];
    if (!down && start > 0) fails = loads[start - 1];
    std::optional<BorderEnd> found;
    for (std::size_t at = start;; at = down ? at - 1 : at + 1) {
      const Proportion here = test(claim, loads[at]);
      if (holds(claim, here)) {
        found = BorderEnd{loads[at], here, fails};
        break;
      }
      fails = loads[at];
      if (border_.cut_short || at == (down ? 0 : loads.size() - 1)) return std::nullopt;
    }
    while (found->next && !border_.cut_short &&
           std::max(found->load, *found->next) - std::min(found->load, *found->next) >
               kWidth * found->load) {
      const double middle = (found->load + *found->next) / 2;
      const Proportion here = test(claim, middle);
      if (holds(claim, here)) {
        found->load = middle;
        found->collapsed = here;
      } else if (!border_.cut_short) {
        found->next = middle;
      }
    }
    return found;
  }

 private:
  static bool holds(Claim claim, const Proportion& at) {
    const Interval interval = at.interval(kLooksZ);
    return claim == Claim::safe ? interval.high < kSafe : interval.low > kSure;
  }
  static bool is_refuted(Claim claim, const Proportion& at) {
    const Interval interval = at.interval(kLooksZ);
    return claim == Claim::safe ? interval.low > kSafe : interval.high < kSure;
  }

  // The sequential test.
  Proportion test(Claim claim, double load) {
    Proportion all;
    for (int look = kFirstLook; look <= kLastLook; look *= 2) {
      const int more = look - static_cast<int>(all.n);
      if (more > left_) {
        border_.cut_short = true;
        return all;
      }
      const Proportion counted = count_(load, static_cast<int>(all.n), more);
      DAMPER_CHECK(counted.n <= more);
      left_ -= more;
      border_.runs += counted.n;
      all.k += counted.k;
      all.n += counted.n;
      if (counted.n < more) border_.cut_short = true;
      if (border_.cut_short || holds(claim, all) || is_refuted(claim, all)) return all;
    }
    return all;
  }

  const CountCollapsed& count_;
  SureBorder& border_;
  int left_ = 0;
};

}  // namespace

SureBorder find_sure_border(std::span<const double> loads, std::span<const Proportion> row,
                            int most_runs, const CountCollapsed& count) {
  DAMPER_CHECK(loads.size() == row.size());
  SureBorder border;
  // The highest load at and under which no run of the sweep collapsed, and the lowest from which on
  // all did.
  std::size_t calm = 0;
  while (calm < row.size() && row[calm].n > 0 && row[calm].k == 0) ++calm;
  std::size_t lost = row.size();
  while (lost > 0 && row[lost - 1].n > 0 && row[lost - 1].k == row[lost - 1].n) --lost;
  bool cut_short = false;
  if (calm > 0) {
    border.safe = Search(count, border).find(Claim::safe, loads, calm - 1, most_runs / 2);
    cut_short = border.cut_short;
  }
  if (lost < row.size()) {
    border.cut_short = false;
    border.sure = Search(count, border)
                      .find(Claim::sure, loads, lost, most_runs - static_cast<int>(border.runs));
  }
  border.cut_short = border.cut_short || cut_short;
  return border;
}

}  // namespace damper::lab
