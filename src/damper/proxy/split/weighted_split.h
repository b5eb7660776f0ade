#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/bounds.h"

namespace damper::proxy {

// A cluster of a split, and its share of the requests: weight / sum of the weights.
struct ClusterWeight {
  static constexpr Range<std::uint32_t> kWeight{0, 1'000'000};  // 0: no requests

  std::string cluster;
  std::uint32_t weight = 1;

  friend bool operator==(const ClusterWeight&, const ClusterWeight&) = default;
};
inline constexpr std::size_t kMostWeights = 16;  // clusters of one split

// One sentence: a cluster is named twice, or the sum is 0.
[[nodiscard]] std::optional<std::string> find_error(std::span<const ClusterWeight> weights);

// "ROUTE@CLUSTER", the name of what a route shares with one of its weighted clusters: breaker,
// budget, limit, metrics. No route is called so: '@' is in no name of a file.
inline constexpr char kSplitMark = '@';
[[nodiscard]] std::string split_name(std::string_view route, std::string_view cluster);

// A WeightedSplit selects the cluster of a request.
//
// Why: a canary gets a small share of the requests, and a client that is to see one version only
// has to get the same cluster each time, from every proxy and after every restart.
// Model: without a key the cluster is drawn by its weight. With a key each cluster gets a time
// -ln(u) / weight, where u in (0, 1) is a hash of the key and the cluster's name; the least time
// wins: rendezvous hashing with weights (Schindelhauer and Schomaker, "Weighted distributed hash
// tables", 2005). The times have exponential distributions with the weights as rates, so that the
// first is that of a cluster in proportion to its weight.
// Invariants:
//   (1) A cluster of weight 0 is never selected.
//   (2) The choice for a key depends on the names and the proportions of the weights, not on their
//       order, the process or the machine.
//   (3) If one weight grows, keys move to its cluster alone; if it shrinks, keys move from it
//       alone.
// Thread safety: immutable. Cost: no allocation; with a key some 15 ns for each cluster.
class WeightedSplit {
 public:
  // REQUIRES: !find_error(weights), and at least one.
  explicit WeightedSplit(std::span<const ClusterWeight> weights);

  // The position of a cluster. `draw` in [0, 1) is used without a key.
  [[nodiscard]] std::size_t pick(std::optional<std::uint64_t> key, double draw) const noexcept {
    return key ? pick_by_key(*key) : pick_by_draw(draw);
  }

 private:
  struct Share {
    double weight;
    std::uint64_t salt;  // a hash of the cluster's name
  };
  [[nodiscard]] std::size_t pick_by_key(std::uint64_t key) const noexcept;
  [[nodiscard]] std::size_t pick_by_draw(double draw) const noexcept;

  std::vector<Share> shares_;
  double sum_ = 0;
};

}  // namespace damper::proxy
