#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "damper/base/check.h"
#include "damper/engine/event.h"
#include "damper/observe/event_text.h"

namespace damper::proxy {

// An EventFeed keeps the last transitions, numbered, for readers of GET /events, and passes
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
                     WallClock wall_clock = std::chrono::system_clock::now)
      : sink_(next),
        wall_clock_(std::move(wall_clock)),
        ring_(kept),
        begin_(first_id(wall_clock_())),
        next_(begin_) {
    DAMPER_CHECK(kept > 0);
  }
  ~EventFeed() = default;

  void on_event(const engine::Event& event) noexcept override {
    if (sink_ != nullptr) sink_->on_event(event);
    try {
      std::string json;
      observe::append_event(json, observe::LogFormat::json, event, wall_clock_());
      const std::lock_guard lock(mutex_);
      Item& item = ring_[next_ % ring_.size()];
      item.id = next_++;
      item.kind = event.kind;
      item.json.swap(json);  // The old one is freed after the lock.
      for (Listener* listener : listeners_) listener->on_feed();
    } catch (...) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  // Those with a greater number, the oldest first, kMostAtOnce at most.
  [[nodiscard]] std::vector<Item> after(std::uint64_t id) const {
    std::vector<Item> items;
    items.reserve(kMostAtOnce);
    const std::lock_guard lock(mutex_);
    std::uint64_t at = id < first_kept() ? first_kept() : id + 1;
    for (; at < next_ && at > id && items.size() < kMostAtOnce; ++at) {
      items.push_back(ring_[at % ring_.size()]);
    }
    return items;
  }
  // The number of the oldest that is kept, and of the next that will come; equal: there is none.
  [[nodiscard]] std::uint64_t first() const {
    const std::lock_guard lock(mutex_);
    return first_kept();
  }
  [[nodiscard]] std::uint64_t next() const {
    const std::lock_guard lock(mutex_);
    return next_;
  }
  // Events that there was no memory to keep.
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }

  // From now on; after ignore() has returned it is not called.
  void listen(Listener& listener) {
    const std::lock_guard lock(mutex_);
    listeners_.push_back(&listener);
  }
  void ignore(Listener& listener) {
    const std::lock_guard lock(mutex_);
    std::erase(listeners_, &listener);
  }

 private:
  static std::uint64_t first_id(observe::WallTime now) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0)) * 1'000'000 + 1;
  }
  [[nodiscard]] std::uint64_t first_kept() const noexcept {
    return next_ - begin_ > ring_.size() ? next_ - ring_.size() : begin_;
  }

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
