#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "damper/engine/exploration/explored_call_testing.h"
#include "damper/engine/exploration/saved_bytes_testing.h"

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
    for (const std::span<std::byte> bytes : call_.bytes()) memory_.emplace_back(bytes);
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
      for (SavedBytes& part : memory_) part.load_first();
      const std::vector<ExploredInput> before = path(next);
      for (const ExploredInput& input : before) call_.apply(input);
      for (SavedBytes& part : memory_) part.save();
      for (const ExploredInput& input : call_.inputs()) {
        for (SavedBytes& part : memory_) part.load();
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
          for (SavedBytes& part : memory_) part.copy_changed_only();
        }
      }
    }
    if (note_changes() && learned_) return restart();
    result.states = seen_.size();
    result.complete = next == nodes_.size();
    return result;
  }
  [[nodiscard]] std::optional<Explored> restart() {
    for (SavedBytes& part : memory_) {
      part.load_whole_first();
      part.copy_changed_only();
    }
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
    for (SavedBytes& part : memory_) part.load_first();
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

  // Of all parts, also if the first has changed already.
  [[nodiscard]] bool note_changes() {
    bool is_new = false;
    for (SavedBytes& part : memory_) is_new = part.note_changes() || is_new;
    return is_new;
  }

  static constexpr std::size_t kLearning = 5'000;  // inputs: see SavedBytes

  const Exploration& exploration_;
  ExploredCall call_;
  std::vector<Node> nodes_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<SavedBytes> memory_;  // first: the call has started; saved: the state that is tried
  bool learned_ = false;
};

}  // namespace damper::engine
