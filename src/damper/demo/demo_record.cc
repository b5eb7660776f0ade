#include "damper/demo/demo_record.h"

#include <algorithm>
#include <limits>
#include <span>

namespace damper::demo {
namespace {

constexpr double kBack = 0.95;
constexpr std::size_t kWindow = 5;                         // buckets of a recovery
constexpr std::size_t kRateWindow = 10;                    // and of a ratio
constexpr Duration kTimeToShow = std::chrono::seconds(8);  // of an act, for what takes time
constexpr Duration kSwitchedOffWithin = std::chrono::milliseconds(50);

std::uint64_t sum(const std::vector<std::uint32_t>& counts, std::size_t from, std::size_t to) {
  std::uint64_t total = 0;
  for (std::size_t i = from; i < std::min(to, counts.size()); ++i) total += counts[i];
  return total;
}

std::size_t bucket_of(Duration at) {
  return at < Duration{0} ? 0 : static_cast<std::size_t>(at / kDemoBucket);
}

// The smallest that at least 99 % do not exceed.
Duration p99_of(std::vector<Duration>& taken) {
  if (taken.empty()) return Duration{0};
  const std::size_t rank = (taken.size() * 99 + 99) / 100 - 1;
  const auto place = taken.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(taken.begin(), place, taken.end());
  return *place;
}

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

LaneFindings findings(const LaneRecord& lane, Duration from, Duration to) {
  LaneFindings found;
  std::vector<Duration> taken;
  for (const LoadCall& call : lane.calls) {
    if (call.ended < from || call.ended >= to) continue;
    taken.push_back(call.ended - call.started);
    if (call.good()) ++found.good;
  }
  found.offered = sum(lane.started, bucket_of(from), bucket_of(to));
  found.good_ratio = std::min(1.0, ratio(found.good, found.offered));
  found.attempts_per_request =
      ratio(sum(lane.attempts, bucket_of(from), bucket_of(to)), found.offered);
  found.p99 = p99_of(taken);
  return found;
}

std::optional<Duration> find_recovery(const LaneRecord& lane, const ActTimes& times) {
  const std::vector<double> good = good_series(lane);
  const std::size_t over = bucket_of(times.over);
  for (std::size_t i = over; i + kWindow <= good.size(); ++i) {
    double well = 0;
    for (std::size_t k = i; k < i + kWindow; ++k) well += good[k];
    const std::uint64_t offered = sum(lane.started, i, i + kWindow);
    if (offered > 0 && well >= kBack * static_cast<double>(offered)) {
      return kDemoBucket * static_cast<std::int64_t>(i - over);
    }
  }
  return std::nullopt;
}

std::vector<double> good_series(const LaneRecord& lane) {
  std::vector<double> good(lane.started.size(), 0);
  for (const LoadCall& call : lane.calls) {
    const std::size_t at = bucket_of(call.ended);
    if (call.good() && at < good.size()) ++good[at];
  }
  return good;
}

std::vector<double> p99_series(const LaneRecord& lane) {
  std::vector<std::vector<Duration>> taken(lane.started.size());
  for (const LoadCall& call : lane.calls) {
    const std::size_t at = bucket_of(call.ended);
    if (at < taken.size()) taken[at].push_back(call.ended - call.started);
  }
  std::vector<double> slowest;
  slowest.reserve(taken.size());
  for (std::vector<Duration>& one : taken) {
    slowest.push_back(one.empty() ? std::numeric_limits<double>::quiet_NaN()
                                  : std::chrono::duration<double, std::milli>(p99_of(one)).count());
  }
  return slowest;
}

std::vector<double> attempts_series(const LaneRecord& lane) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < lane.started.size(); ++i) {
    const std::size_t from = i + 1 < kRateWindow ? 0 : i + 1 - kRateWindow;
    ratios.push_back(ratio(sum(lane.attempts, from, i + 1), sum(lane.started, from, i + 1)));
  }
  return ratios;
}

std::vector<Promise> promises(const ActRecord& act) {
  const LaneFindings with = findings(act.guarded, act.times.trouble, act.times.end);
  const LaneFindings without = findings(act.unguarded, act.times.trouble, act.times.end);
  const bool has_time = act.times.end >= kTimeToShow;
  const Promise well_again{
      "all was well again within 2 s",
      find_recovery(act.guarded, act.times).value_or(kForever) <= std::chrono::seconds(2)};
  std::vector<Promise> made;
  switch (act.act) {
    case Act::outage:
      made.push_back({"an outage cost the backends at most 1.15 attempts for each request",
                      with.attempts_per_request <= 1.15});
      made.push_back(
          {"fewer than without a guard", with.attempts_per_request < without.attempts_per_request});
      if (has_time) made.push_back(well_again);
      break;
    case Act::slow_replica:
      made.push_back({"with one slow replica, at least 95 % of the requests were good",
                      with.good_ratio >= 0.95});
      if (has_time)
        made.push_back({"and the p99 was lower than without a guard", with.p99 < without.p99});
      break;
    case Act::overload:
      made.push_back({"in an overload more requests were good than without a guard",
                      with.good > without.good});
      if (has_time) made.push_back(well_again);
      break;
    case Act::kill_switch:
      made.push_back({"the kill switch ended every call that waited within 50 ms",
                      act.guarded.waiting > 0 &&
                          act.guarded.waiting_ended.value_or(kForever) <= kSwitchedOffWithin});
      break;
  }
  return made;
}

}  // namespace damper::demo
