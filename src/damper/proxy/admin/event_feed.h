#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "damper/engine/event.h"
#include "damper/observe/event_text.h"

namespace damper::proxy {

// An EventFeed keeps the last transitions, numbered, for whoever asks what happened, and passes
// each on to the next sink.
//   EventFeed feed(&log);
//   Proxy::start(config, {.events = &feed});
//
// Why: a log has what happened for those who have its file at hand. At 02:13 one wants the last
// minutes of this proxy, and to follow it from there, through the port that is open anyway.
// Model: a ring of `kept` events, each as the JSON line of observe/event_text.h. Numbers grow by
// one. The first is the wall clock's second times a million, so that a number of an earlier process
// is never one of this process. A subscriber remembers the last number that it has seen, and asks
// for what came after; a Listener is told that something came.
// Invariants:
//   (1) It holds exactly the last `kept` events, in the order of their numbers.
//   (2) A reader blocks a reporter for no longer than the copy of kMostAtOnce lines, and a slow
//       reader does not make it keep more.
//   (3) Every event is passed on once, also an event without memory to keep it (see dropped()).
// Thread safety: all methods may be called concurrently.
// Cost: one lock and one line of text for an event; at most `kept` KiB.
class EventFeed final : public engine::EventSink {
 public:
  struct Item {
    std::uint64_t id = 0;
    engine::EventName kind{};
    std::string json{};
  };
  // Called by the thread that reports, under the feed's lock: it wakes somebody, and returns.
  class Listener {
   public:
    virtual void on_feed() noexcept = 0;

   protected:
    ~Listener() = default;
  };
  using WallClock = std::function<observe::WallTime()>;

  static constexpr std::size_t kKept = 1000;
  static constexpr std::size_t kMostAtOnce = 32;

  // The next sink outlives it.
  explicit EventFeed(engine::EventSink* next = nullptr, std::size_t kept = kKept,
                     WallClock wall_clock = std::chrono::system_clock::now);
  ~EventFeed() = default;

  void on_event(const engine::Event& event) noexcept override;

  // Those with a greater number, the oldest first, kMostAtOnce at most.
  [[nodiscard]] std::vector<Item> after(std::uint64_t id) const;
  // The number of the oldest that is kept, and of the next that will come; equal: there is none.
  [[nodiscard]] std::uint64_t first() const;
  [[nodiscard]] std::uint64_t next() const;
  // Events that there was no memory to keep.
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }

  // From now on; after ignore() has returned it is not called.
  void listen(Listener& listener);
  void ignore(Listener& listener);

 private:
  [[nodiscard]] std::uint64_t first_kept() const noexcept;

  engine::EventSink* const sink_;
  const WallClock wall_clock_;
  mutable std::mutex mutex_;
  std::vector<Item> ring_;  // the event `id` is at id % size
  const std::uint64_t begin_;
  std::uint64_t next_;
  std::vector<Listener*> listeners_;
  std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace damper::proxy
