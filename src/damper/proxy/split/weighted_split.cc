#include "damper/proxy/split/weighted_split.h"

#include <algorithm>
#include <limits>

#include "damper/base/check.h"
#include "damper/base/portable_math.h"
#include "damper/base/text/words.h"
#include "damper/proxy/split/hash_policy.h"

namespace damper::proxy {
namespace {

// A number in (0, 1) for a key and a cluster: the finalizer of MurmurHash3, which lets every bit of
// its argument change half of the bits of the result.
double fraction(std::uint64_t key, std::uint64_t salt) noexcept {
  std::uint64_t bits = key ^ salt;
  bits = (bits ^ (bits >> 33)) * 0xff51afd7ed558ccdU;
  bits = (bits ^ (bits >> 33)) * 0xc4ceb9fe1a85ec53U;
  bits ^= bits >> 33;
  constexpr double kStep = 1.0 / static_cast<double>(std::uint64_t{1} << 52);
  return (static_cast<double>(bits >> 12) + 0.5) * kStep;  // Exact: 53 bits.
}

}  // namespace

std::optional<std::string> find_error(std::span<const ClusterWeight> weights) {
  std::uint64_t sum = 0;
  for (auto one = weights.begin(); one != weights.end(); ++one) {
    sum += one->weight;
    const auto same = [&](const ClusterWeight& other) { return other.cluster == one->cluster; };
    if (std::any_of(weights.begin(), one, same)) {
      return "weighted_clusters has the cluster " + text::in_quotes(one->cluster) + " twice";
    }
  }
  if (sum == 0) return std::string("weighted_clusters has no weight over 0");
  return std::nullopt;
}

std::string split_name(std::string_view route, std::string_view cluster) {
  return std::string(route).append(1, kSplitMark).append(cluster);
}

WeightedSplit::WeightedSplit(std::span<const ClusterWeight> weights) {
  DAMPER_CHECK(!weights.empty() && !find_error(weights));
  shares_.reserve(weights.size());
  for (const ClusterWeight& one : weights) {
    shares_.push_back({static_cast<double>(one.weight), hash_key_of(one.cluster)});
    sum_ += shares_.back().weight;
  }
}

std::size_t WeightedSplit::pick_by_key(std::uint64_t key) const noexcept {
  std::size_t first = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const Share& share = shares_[i];
    if (share.weight == sum_) return i;
    if (share.weight == 0) continue;
    const double time = -math::ln(fraction(key, share.salt)) / share.weight;
    if (time >= least) continue;
    least = time;
    first = i;
  }
  return first;
}

std::size_t WeightedSplit::pick_by_draw(double draw) const noexcept {
  double rest = draw * sum_;
  std::size_t last = 0;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (shares_[i].weight == 0) continue;
    last = i;
    if (rest < shares_[i].weight) break;
    rest -= shares_[i].weight;
  }
  return last;
}

}  // namespace damper::proxy
