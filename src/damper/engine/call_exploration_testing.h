#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "damper/engine/explored_call_testing.h"

namespace damper::engine {

// What was found: the numbers, and the shortest history that breaks an invariant.
struct Explored {
  std::size_t states = 0;       // that differ
  std::size_t transitions = 0;  // inputs played
  std::size_t ended = 0;        // histories that ended without the final cancellation
  bool complete = false;        // every state was explored
  std::string counterexample;   // empty: none
};

// A CallExplorer plays every history of a call, breadth first, and checks the invariants of Call
// after each input. For tests.
//
// Why: random histories find a fault that needs four inputs in the right order only with luck; and
// what they find is long.
// Model: time passes in ticks, and equal states are merged: see ExploredCall::digest(). Every state
// is ended by a cancellation as well, before it is merged, and then the books have to balance. So a
// fault is found at the first input that makes it, and breadth first makes its history the
// shortest.
class CallExplorer {
 public:
  explicit CallExplorer(const Exploration& exploration)
      : exploration_(exploration), call_(exploration) {}

  [[nodiscard]] Explored run() {
    call_.start();
    if (!call_.fault().empty() || call_.over()) {
      return {.counterexample = call_.fault() + " at the start"};
    }
    first_ = here_ = image();
    changed_.assign(call_.size() / kBlock + 1, false);
    ranges_ = {{0, call_.size()}};
    std::optional<Explored> result;
    while (!result) result = explore();
    return *result;
  }

 private:
  struct Node {
    std::uint32_t parent = 0;
    ExploredInput input{};
  };

  // Nothing: a history has changed bytes that were not restored, and they will be now.
  [[nodiscard]] std::optional<Explored> explore() {
    Explored result;
    nodes_ = {{}};
    seen_ = {call_.digest()};
    std::size_t next = 0;
    for (; next < nodes_.size() && seen_.size() < exploration_.most_states; ++next) {
      load(first_);
      const std::vector<ExploredInput> before = path(next);
      for (const ExploredInput& input : before) call_.apply(input);
      save(here_);
      for (const ExploredInput& input : call_.inputs()) {
        load(here_);
        try_input(next, input, result);
        const bool found = !call_.fault().empty();
        const bool checks = !learned_ || found || result.transitions % kLearning == 0;
        if (checks && note_changes() && learned_) return restart();
        if (found) {
          result.counterexample = trace(before, input);
          return result;
        }
        if (!learned_ && result.transitions == kLearning) {
          learned_ = true;
          ranges_ = ranges_of(changed_);
        }
      }
    }
    if (note_changes() && learned_) return restart();
    result.states = seen_.size();
    result.complete = next == nodes_.size();
    return result;
  }
  [[nodiscard]] std::optional<Explored> restart() {
    ranges_ = {{0, call_.size()}};
    load(first_);
    ranges_ = ranges_of(changed_);
    call_.forget_fault();
    return std::nullopt;
  }

  // Plays an input in the state that was loaded; then the state is ended, and its books compared.
  void try_input(std::size_t node, const ExploredInput& input, Explored& result) {
    call_.apply(input);
    ++result.transitions;
    const bool over = call_.over();
    if (over) ++result.ended;
    if (!call_.fault().empty()) return;
    if (seen_.insert(call_.digest()).second) {
      call_.check_tally();
      if (!over) nodes_.push_back({static_cast<std::uint32_t>(node), input});
    }
    if (call_.fault().empty()) call_.end();
  }

  [[nodiscard]] std::vector<ExploredInput> path(std::size_t node) const {
    std::vector<ExploredInput> inputs;
    for (; node != 0; node = nodes_[node].parent) inputs.push_back(nodes_[node].input);
    std::reverse(inputs.begin(), inputs.end());
    return inputs;
  }

  // The history that ends with `last`, one input a line with the step that it makes, and the
  // invariant that it breaks.
  [[nodiscard]] std::string trace(const std::vector<ExploredInput>& inputs, ExploredInput last) {
    const std::string fault = call_.fault();
    load(first_);
    std::string text = "start" + call_.step_in_words();
    const auto play = [this, &text](const ExploredInput& input) {
      call_.apply(input);
      text += in_words(input, exploration_);
      text += makes_step(input) ? call_.step_in_words() : "\n";
    };
    for (const ExploredInput& input : inputs) play(input);
    play(last);
    if (!call_.over()) play({ExploredInput::Kind::cancel});
    return text += fault;
  }

  // The bytes of the state. Of its 100 KiB (histograms, counters by thread) a history changes a
  // few, mostly the same ones, and copying all of them is most of the time: the first kLearning
  // inputs show which blocks. The others are compared with the first state now and then, and if one
  // of them has changed, the exploration starts again.
  using Image = std::vector<std::byte>;
  struct Bytes {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  static constexpr std::size_t kBlock = 256;
  static constexpr std::size_t kLearning = 5'000;

  [[nodiscard]] Image image() { return {call_.bytes(), call_.bytes() + call_.size()}; }
  void save(Image& image) {
    for (const auto [begin, end] : ranges_) {
      std::memcpy(image.data() + begin, call_.bytes() + begin, end - begin);
    }
  }
  void load(const Image& image) {
    for (const auto [begin, end] : ranges_) {
      std::memcpy(call_.bytes() + begin, image.data() + begin, end - begin);
    }
  }
  // Whether a block has changed for the first time.
  bool note_changes() {
    const std::string_view now(reinterpret_cast<const char*>(call_.bytes()), call_.size());
    const std::string_view first(reinterpret_cast<const char*>(first_.data()), first_.size());
    bool is_new = false;
    for (std::size_t i = 0; i < now.size(); i += kBlock) {
      if (changed_[i / kBlock] || now.substr(i, kBlock) == first.substr(i, kBlock)) continue;
      is_new = changed_[i / kBlock] = true;
    }
    return is_new;
  }
  [[nodiscard]] std::vector<Bytes> ranges_of(const std::vector<bool>& changed) const {
    std::vector<Bytes> ranges;
    ranges.reserve(changed.size());
    for (std::size_t i = 0; i < changed.size(); ++i) {
      // And its neighbours: a later history reaches the next slot of a histogram or ring.
      const bool beside = (i > 0 && changed[i - 1]) || (i + 1 < changed.size() && changed[i + 1]);
      if (!changed[i] && !beside) continue;
      const std::size_t end = std::min((i + 1) * kBlock, call_.size());
      if (!ranges.empty() && ranges.back().end == i * kBlock) {
        ranges.back().end = end;
      } else {
        ranges.push_back({i * kBlock, end});
      }
    }
    return ranges;
  }

  const Exploration& exploration_;
  ExploredCall call_;
  std::vector<Node> nodes_;
  std::unordered_set<std::uint64_t> seen_;
  Image first_;  // the call has started
  Image here_;   // the state whose inputs are tried
  bool learned_ = false;
  std::vector<bool> changed_;  // blocks
  std::vector<Bytes> ranges_;  // of them
};

}  // namespace damper::engine
