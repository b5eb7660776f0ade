#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "damper/base/atomic.h"
#include "damper/base/random.h"

namespace damper::interleavings {

// At this step the running thread stops, and the thread `to` continues.
struct Preemption {
  std::size_t step = 0;  // from 1
  int to = 0;
};

// A Scheduler runs threads one at a time and chooses, before each operation on an Atomic, which
// thread continues. The threads are fibers of one thread of the system: a run is deterministic, and
// a switch costs no wake-up.
//
// Model: a thread runs until it ends, until a preemption, or until it waits for another thread: a
// loop that only reads the same word, or kLongestSlice steps. The switch in such a loop is no
// preemption.
class Scheduler final : public Stepper {
 public:
  using Body = std::function<void(int thread)>;

  explicit Scheduler(int threads);

  // Runs body(0), body(1), ... to their ends; thread `first` begins. Returns the number of steps; 0
  // when a preemption had no effect, because its thread had ended or was running.
  std::size_t run(const Body& body, int first, std::span<const Preemption> preemptions);
  // Preempts before each step with a probability.
  std::size_t run(const Body& body, Random& random, double probability);

  // What the threads did in the last run: a line for each switch and each note().
  [[nodiscard]] const std::string& trace() const { return trace_; }
  void trace_on(bool on) { traces_ = on; }
  // A step of the running thread that is no operation: another thread may run meanwhile. A thread
  // that holds something pauses, or nobody sees that it holds it.
  static void pause() { Stepper::current->on_step(nullptr); }
  // A line of the running thread; nothing outside of a run.
  static void note(const char* text);

 private:
  static constexpr std::size_t kStack = 128 * 1024;
  static constexpr int kLongestWait = 4;
  static constexpr std::size_t kLongestSlice = 500;
  static constexpr std::size_t kMostSteps = 1'000'000;  // then it hangs

  struct Fiber {
    ucontext_t context{};
    std::vector<char> stack;
    bool ended = false;
  };

  void on_step(const void* address) noexcept override;
  void on_change() noexcept override { waits_ = 0; }
  std::size_t run_all(int first);
  [[nodiscard]] int next_alive() const;
  void switch_to(int thread, const char* why);
  static void enter(unsigned high, unsigned low);

  std::vector<std::unique_ptr<Fiber>> fibers_;
  ucontext_t main_{};
  const Body* body_ = nullptr;
  std::span<const Preemption> preemptions_;
  Random* random_ = nullptr;
  double probability_ = 0;
  int running_ = 0;
  std::size_t step_ = 0;
  std::size_t slice_ = 0;
  const void* last_ = nullptr;
  int waits_ = 0;
  bool in_vain_ = false;
  bool traces_ = false;
  std::string trace_;
};

// The result of an exploration.
struct Explored {
  std::size_t schedules = 0;
  std::size_t longest = 0;  // steps of one
  std::string fault;        // the first, with its trace; empty: none
};

// Runs every schedule of World's threads with at most `preemptions` preemptions. A World is made
// for each: World::kThreads, run(thread), and fault() when all threads have ended.
template <class World>
class Exploration {
 public:
  Explored all(int preemptions) {
    for (int first = 0; first < World::kThreads && result_.fault.empty(); ++first) {
      schedule_.clear();
      extend(first, preemptions);
    }
    return result_;
  }

  // `runs` random schedules, from a seed each.
  Explored random(int runs) {
    for (int seed = 1; seed <= runs && result_.fault.empty(); ++seed) {
      const double probability = seed % 3 == 0 ? 0.5 : seed % 3 == 1 ? 0.1 : 0.02;
      Random random(static_cast<std::uint64_t>(seed));
      play([&](const Scheduler::Body& body) { return scheduler_.run(body, random, probability); });
      if (result_.fault.empty()) continue;
      scheduler_.trace_on(true);
      Random again(static_cast<std::uint64_t>(seed));
      play([&](const Scheduler::Body& body) { return scheduler_.run(body, again, probability); });
      result_.fault += "\nseed " + std::to_string(seed) + ":\n" + scheduler_.trace();
    }
    return result_;
  }

 private:
  template <class Run>
  std::size_t play(const Run& run) {
    World world;
    const std::size_t steps = run([&world](int thread) { world.run(thread); });
    if (steps == 0) return 0;
    ++result_.schedules;
    if (steps > result_.longest) result_.longest = steps;
    result_.fault = world.fault();
    return steps;
  }

  void extend(int first, int preemptions) {
    const auto run = [&](const Scheduler::Body& body) {
      return scheduler_.run(body, first, schedule_);
    };
    const std::size_t steps = play(run);
    if (!result_.fault.empty()) {
      if (!scheduler_.trace().empty()) return;  // Of a longer schedule.
      scheduler_.trace_on(true);
      play(run);
      result_.fault += "\n" + scheduler_.trace();
      return;
    }
    if (preemptions == 0) return;
    for (std::size_t step = schedule_.empty() ? 1 : schedule_.back().step + 1; step <= steps;
         ++step) {
      for (int to = 0; to < World::kThreads; ++to) {
        schedule_.push_back({step, to});
        extend(first, preemptions - 1);
        schedule_.pop_back();
        if (!result_.fault.empty()) return;
      }
    }
  }

  Scheduler scheduler_{World::kThreads};
  std::vector<Preemption> schedule_;
  Explored result_;
};

}  // namespace damper::interleavings
