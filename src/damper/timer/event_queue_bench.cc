#include "damper/timer/event_queue.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "damper/base/random.h"
#include "damper/timer/heap_queue_testing.h"

namespace damper::timer {
namespace {

// A bare heap of plain events: nothing can be cancelled, so an entry is the event.
class PlainHeap {
 public:
  void schedule(Instant at, const TimedEvent& event) { heap_.push({at, ++sequence_, event}); }
  std::optional<EventQueue::Due> pop() noexcept {
    if (heap_.empty()) return std::nullopt;
    const EventQueue::Due due{heap_.top().at, heap_.top().event};
    heap_.pop();
    return due;
  }

 private:
  struct Entry {
    Instant at;
    std::uint64_t sequence;
    TimedEvent event;
  };
  static_assert(sizeof(Entry) == 32);
  QuaternaryHeap<Entry> heap_;
  std::uint64_t sequence_ = 0;
};

// Numbers drawn beforehand: drawing them is not what is measured.
class Draws {
 public:
  template <class Make>
  explicit Draws(Make make) : values_(kCount) {
    for (std::int64_t& value : values_) value = make(random_.draw());
  }
  Duration next() noexcept { return Duration{values_[i_++ % kCount]}; }

 private:
  static constexpr std::size_t kCount = 1U << 14;
  Random random_{20};
  std::vector<std::int64_t> values_;
  std::size_t i_ = 0;
};

Draws exponential(double mean_ns) {
  return Draws([&](double draw) { return std::llround(-mean_ns * std::log1p(-draw)); });
}

// Objects through an M/M/1 queue under a load of 0.9: an arrival and a departure each.
template <class Queue>
void mm1(benchmark::State& state) {
  enum : std::uint32_t { arrival, departure };
  Draws gaps = exponential(1e6);
  Draws services = exponential(0.9e6);
  Queue queue;
  queue.schedule(Instant{}, {.kind = arrival});
  std::int64_t in_system = 0;
  std::uint64_t objects = 0;
  while (state.KeepRunningBatch(1000)) {
    for (const std::uint64_t end = objects + 1000; objects < end;) {
      const auto [at, event] = *queue.pop();
      if (event.kind == arrival) {
        queue.schedule(at + gaps.next(), {.kind = arrival});
        if (in_system++ == 0) queue.schedule(at + services.next(), {.kind = departure});
      } else {
        ++objects;
        if (--in_system > 0) queue.schedule(at + services.next(), {.kind = departure});
      }
    }
  }
  benchmark::DoNotOptimize(in_system);
  state.SetItemsProcessed(static_cast<std::int64_t>(objects));
}

// A storm's timers: `pending` of them, and of five that are scheduled four are cancelled, whichever
// of all that are pending, and one happens.
template <class Queue>
void storm(benchmark::State& state) {
  const auto pending = static_cast<std::size_t>(state.range(0));
  Draws delays([](double draw) { return std::llround(draw * 10e9) + 1; });
  Random random(7);
  Queue queue;
  std::vector<decltype(queue.schedule({}, {}))> timers(pending);
  const auto schedule = [&](std::size_t i, Instant now) {
    timers[i] = queue.schedule(now + delays.next(), {.detail = i});
  };
  for (std::size_t i = 0; i < pending; ++i) schedule(i, Instant{});
  const auto step = [&] {
    const auto [at, event] = *queue.pop();
    schedule(event.detail, at);
    for (int i = 0; i < 4; ++i) {
      const auto any = static_cast<std::size_t>((random.bits() >> 32) * pending >> 32);
      queue.cancel(timers[any]);
      schedule(any, at);
    }
  };
  for (std::size_t i = 0; i < pending; ++i) step();  // To where it goes on for ever.
  for (auto _ : state) step();
  state.SetItemsProcessed(state.iterations() * 5);
}

BENCHMARK(mm1<EventQueue>)->Name("BM_LabMM1");
BENCHMARK(mm1<PlainHeap>)->Name("BM_HeapMM1");
BENCHMARK(storm<EventQueue>)->Name("BM_LabStorm")->Arg(100'000)->Arg(1'000'000);
BENCHMARK(storm<HeapQueue>)->Name("BM_HeapStorm")->Arg(100'000)->Arg(1'000'000);

}  // namespace
}  // namespace damper::timer
