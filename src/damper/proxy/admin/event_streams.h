#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>

#include "damper/base/instant.h"
#include "damper/http/codec/stream.h"
#include "damper/http/net/loop.h"
#include "damper/proxy/admin/event_feed.h"

namespace damper::observe {
class Counter;
class Gauge;
class Registry;
}  // namespace damper::observe

namespace damper::proxy {

struct EventStreamsOptions {
  Duration heartbeat = std::chrono::seconds(15);
  std::size_t most = 64;  // subscribers
};

// EventStreams are the responses to GET /events: server-sent events (WHATWG HTML, section 9.2).
//   id: 1794708787000001
//   event: breaker_opened
//   data: {"time":"2026-11-15T02:13:07.123Z","event":"breaker_opened","key":"billing", ...}
//
// Model: a subscriber gets what the feed has kept, and then what comes. With Last-Event-ID it gets
// what came after that; if some of it is no longer kept, an event `missed` says so first. A comment
// every `heartbeat` keeps what is in between from closing the connection, and finds out who is
// gone. With ?follow=false the stream ends where it would wait.
// Invariants:
//   (1) At most `most` subscribers.
//   (2) A subscriber's backlog is the feed's own ring and one batch of it: one that does not read
//       costs no more, and is cut when the ring has passed it by. It can come back for the rest.
//   (3) No subscriber makes another one, or a reporter, wait.
// Thread safety: none; all on the loop's thread. The loop, the feed and the registry outlive it; it
// outlives its streams.
class EventStreams final : private http::Loop::Timer, private EventFeed::Listener {
 public:
  EventStreams(http::Loop& loop, EventFeed& feed, observe::Registry& registry,
               const EventStreamsOptions& options);
  ~EventStreams() override;

  [[nodiscard]] bool is_full() const noexcept { return subscribers_.size() >= options_.most; }
  // Answers the request. The user is its own, until on_close(), or until it is cut: then `on_cut`
  // is called, last of all. REQUIRES: !is_full().
  [[nodiscard]] http::StreamUser& subscribe(http::Stream& stream, const http::Head& request,
                                            std::function<void()> on_cut);
  // One was turned away.
  void on_refused() noexcept;

 private:
  class Subscriber;
  using Entry = std::list<std::unique_ptr<Subscriber>>::iterator;

  void on_feed() noexcept override;     // on any thread
  void on_timer(Instant now) override;  // the heartbeat
  void pump();

  EventFeed& feed_;
  const EventStreamsOptions options_;
  observe::Gauge& count_;
  observe::Counter& cut_;
  observe::Counter& full_;
  std::list<std::unique_ptr<Subscriber>> subscribers_;
  std::atomic<bool> posted_{false};  // a pump() is on its way
  const std::shared_ptr<EventStreams*> self_ = std::make_shared<EventStreams*>(this);  // for it
};

}  // namespace damper::proxy
