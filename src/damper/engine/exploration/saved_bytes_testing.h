#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace damper::engine {

// SavedBytes are an object that a history changes, saved and loaded as its bytes, at the address
// that they belong to. For tests.
//
// Model: of the 100 KiB of a dependency (histograms, counters by thread) a history changes a few
// bytes, mostly the same ones, and copying all of them is most of the time: the first inputs show
// which blocks. The others are compared with the first state now and then, and if one of them has
// changed, the exploration starts again.
class SavedBytes {
 public:
  // The first state: the bytes as they are.
  explicit SavedBytes(std::span<std::byte> bytes)
      : bytes_(bytes),
        first_(bytes.begin(), bytes.end()),
        here_(first_),
        changed_(bytes.size() / kBlock + 1, false),
        ranges_{{0, bytes.size()}} {}

  void save() {
    for (const auto [begin, end] : ranges_) {
      std::memcpy(here_.data() + begin, bytes_.data() + begin, end - begin);
    }
  }
  void load() { load(here_); }
  void load_first() { load(first_); }
  // Also what the ranges leave out.
  void load_whole_first() { std::memcpy(bytes_.data(), first_.data(), first_.size()); }

  // Whether a block has changed for the first time.
  bool note_changes() {
    const std::string_view now(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    const std::string_view first(reinterpret_cast<const char*>(first_.data()), first_.size());
    bool is_new = false;
    for (std::size_t i = 0; i < now.size(); i += kBlock) {
      if (changed_[i / kBlock] || now.substr(i, kBlock) == first.substr(i, kBlock)) continue;
      is_new = changed_[i / kBlock] = true;
    }
    return is_new;
  }
  // From now on only the blocks that have changed are copied, and their neighbours: a later history
  // reaches the next slot of a histogram or ring.
  void copy_changed_only() {
    ranges_.clear();
    for (std::size_t i = 0; i < changed_.size(); ++i) {
      const bool beside =
          (i > 0 && changed_[i - 1]) || (i + 1 < changed_.size() && changed_[i + 1]);
      if (!changed_[i] && !beside) continue;
      const std::size_t end = std::min((i + 1) * kBlock, bytes_.size());
      if (!ranges_.empty() && ranges_.back().end == i * kBlock) {
        ranges_.back().end = end;
      } else {
        ranges_.push_back({i * kBlock, end});
      }
    }
  }

 private:
  using Image = std::vector<std::byte>;
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  static constexpr std::size_t kBlock = 256;

  void load(const Image& image) {
    for (const auto [begin, end] : ranges_) {
      std::memcpy(bytes_.data() + begin, image.data() + begin, end - begin);
    }
  }

  std::span<std::byte> bytes_;
  Image first_;
  Image here_;
  std::vector<bool> changed_;  // blocks
  std::vector<Range> ranges_;  // copied by save() and load()
};

}  // namespace damper::engine
