#include "damper/admit/retry_budget.h"

#include <benchmark/benchmark.h>

#include <deque>
#include <latch>
#include <mutex>
#include <thread>

namespace damper::admit {
namespace {

using namespace std::chrono_literals;

constexpr int kFullWindow = 100'000;              // requests
constexpr Duration kBetween = 10s / kFullWindow;  // so that ten seconds hold a full window

// All four operations are called, not inlined, as they would be from another file.

// A sliding window as one would write it: a mutex and two deques of times.
class NaiveBudget {
 public:
  [[gnu::noinline]] void deposit(Instant now) {
    const std::lock_guard lock(mutex_);
    expire(now);
    deposits_.push_back(now);
  }
  [[gnu::noinline]] bool try_withdraw(Instant now) {
    const std::lock_guard lock(mutex_);
    expire(now);
    const double allowed = 0.1 * static_cast<double>(deposits_.size());
    if (static_cast<double>(withdrawals_.size()) >= allowed) return false;
    withdrawals_.push_back(now);
    return true;
  }

 private:
  void expire(Instant now) {
    const Instant cutoff = now - 10s;
    while (!deposits_.empty() && deposits_.front() < cutoff) deposits_.pop_front();
    while (!withdrawals_.empty() && withdrawals_.front() < cutoff) withdrawals_.pop_front();
  }
  std::mutex mutex_;
  std::deque<Instant> deposits_;
  std::deque<Instant> withdrawals_;
};

struct Ours : RetryBudget {
  [[gnu::noinline]] void deposit(Instant now) { on_request(now); }
  [[gnu::noinline]] bool try_withdraw(Instant now) {
    const Grant grant = RetryBudget::try_withdraw(now);
    if (grant) on_retry_done(grant);
    return grant.granted;
  }
};

// A second thread, alive and asleep: in a process of one thread the C library's mutex does without
// atomic operations, and nobody would need one.
class SecondThread {
 public:
  ~SecondThread() { done_.count_down(); }

 private:
  std::latch done_{1};
  std::jthread thread_{[this] { done_.wait(); }};
};

template <class Budget, bool kWithdraw>
void run(benchmark::State& state) {
  const SecondThread alive;
  Budget budget;
  Instant now{1000s};
  for (int i = 0; i < kFullWindow; ++i) budget.deposit(now += kBetween);
  for (auto _ : state) {
    now += kBetween;
    budget.deposit(now);
    if constexpr (kWithdraw) benchmark::DoNotOptimize(budget.try_withdraw(now));
  }
}

void BM_BudgetDeposit(benchmark::State& state) { run<Ours, false>(state); }
void BM_NaiveDeposit(benchmark::State& state) { run<NaiveBudget, false>(state); }
void BM_Budget(benchmark::State& state) { run<Ours, true>(state); }
void BM_NaiveBudget(benchmark::State& state) { run<NaiveBudget, true>(state); }
BENCHMARK(BM_BudgetDeposit);
BENCHMARK(BM_NaiveDeposit);
BENCHMARK(BM_Budget);
BENCHMARK(BM_NaiveBudget);

}  // namespace
}  // namespace damper::admit
