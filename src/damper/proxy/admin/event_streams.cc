#include "damper/proxy/admin/event_streams.h"

#include <array>
#include <string>
#include <utility>

#include "damper/base/check.h"
#include "damper/base/text/words.h"
#include "damper/observe/registry.h"

namespace damper::proxy {
namespace {

constexpr std::array<http::Field, 4> kFields = {{{"content-type", "text/event-stream"},
                                                 {"cache-control", "no-store"},
                                                 {"x-content-type-options", "nosniff"},
                                                 {"x-accel-buffering", "no"}}};

// The number that a subscriber has seen last; 0: none that could be ours.
std::uint64_t last_seen(const http::Head& request, std::uint64_t next) {
  const auto text = http::find(request.fields, "last-event-id");
  const auto id = text::find_number<std::uint64_t>(text.value_or(""));
  return id && *id < next ? *id : 0;
}

void append(std::string& out, const EventFeed::Item& item) {
  out.append("id: ").append(std::to_string(item.id));
  out.append("\nevent: ").append(engine::name(item.kind));
  out.append("\ndata: ").append(item.json).append("\n\n");
}

}  // namespace

class EventStreams::Subscriber final : public http::StreamUser {
 public:
  Subscriber(EventStreams& all, http::Stream& stream, std::function<void()> on_cut)
      : all_(all), stream_(stream), on_cut_(std::move(on_cut)) {}

  void start(const http::Head& request, Entry entry) {
    entry_ = entry;
    seen_ = last_seen(request, all_.feed_.next());
    follows_ = request.target.find("?follow=false") == std::string_view::npos;
    stream_.send_head({.status = 200, .fields = kFields}, false);
    rest_ = "retry: 2000\n\n";
    pump();
  }
  // What there is to say, as far as the peer takes it.
  void pump() {
    while (!ended_ && send()) {
      const auto items = all_.feed_.after(seen_);
      if (items.empty() && follows_) return;
      if (items.empty()) {
        ended_ = true;
        rest_ = ": that is all\n\n";
        (void)send();
        return;
      }
      if (seen_ != 0 && items.front().id > seen_ + 1) {
        rest_ += "event: missed\ndata: {\"after\":" + std::to_string(seen_) +
                 ",\"next\":" + std::to_string(items.front().id) + "}\n\n";
      }
      for (const auto& item : items) append(rest_, item);
      seen_ = items.back().id;
    }
  }
  void beat() {
    if (!rest_.empty() || ended_) return;
    rest_ = ": heartbeat\n\n";
    (void)send();
  }
  // Whether the ring has passed by one who does not read.
  [[nodiscard]] bool is_behind() const { return !rest_.empty() && seen_ + 1 < all_.feed_.first(); }
  void cut() {
    stream_.cancel();
    const auto told = std::move(on_cut_);
    leave();
    if (told) told();
  }

  void on_head(const http::Head&, bool) override {}
  void on_data(std::string_view bytes) override { stream_.consumed(bytes.size()); }
  void on_end(std::span<const http::Field>) override {}
  void on_writable() override {
    if (!ended_) return pump();
    (void)send();
  }
  void on_close(http::CloseReason) override { leave(); }

 private:
  // Whether all of it was taken.
  [[nodiscard]] bool send() {
    if (rest_.empty()) return true;
    rest_.erase(0, stream_.send_data(rest_, ended_));
    return rest_.empty();
  }
  void leave() {
    EventStreams& all = all_;
    all.subscribers_.erase(entry_);  // Ends this.
    all.count_.set(static_cast<double>(all.subscribers_.size()));
  }

  EventStreams& all_;
  http::Stream& stream_;
  std::function<void()> on_cut_;
  Entry entry_{};
  std::uint64_t seen_ = 0;  // the last that is sent or in rest_
  bool follows_ = true;
  bool ended_ = false;
  std::string rest_;  // not taken yet
};

EventStreams::EventStreams(http::Loop& loop, EventFeed& feed, observe::Registry& registry,
                           const EventStreamsOptions& options)
    : http::Loop::Timer(loop),
      feed_(feed),
      options_(options),
      count_(registry.gauge("damper_admin_event_subscribers", "Open streams of GET /events.")),
      cut_(registry.counter("damper_admin_cut_subscribers_total",
                            "Subscribers of events that read too slowly and were cut.")),
      full_(registry.counter("damper_admin_refused_subscribers_total",
                             "Subscribers of events that were one too many.")) {
  feed_.listen(*this);
}

EventStreams::~EventStreams() { feed_.ignore(*this); }

http::StreamUser& EventStreams::subscribe(http::Stream& stream, const http::Head& request,
                                          std::function<void()> on_cut) {
  DAMPER_CHECK(!is_full());
  if (subscribers_.empty()) arm(add(loop().now(), options_.heartbeat));
  subscribers_.push_back(std::make_unique<Subscriber>(*this, stream, std::move(on_cut)));
  count_.set(static_cast<double>(subscribers_.size()));
  Subscriber& subscriber = *subscribers_.back();
  subscriber.start(request, std::prev(subscribers_.end()));
  return subscriber;
}

void EventStreams::on_refused() noexcept { full_.add(); }

void EventStreams::on_feed() noexcept {
  if (posted_.exchange(true)) return;
  try {
    loop().post([self = std::weak_ptr(self_)] {
      if (const auto alive = self.lock()) (*alive)->pump();
    });
  } catch (...) {
    posted_ = false;  // The next event, or the heartbeat, brings it along.
  }
}

void EventStreams::pump() {
  posted_ = false;  // First: what is reported from here on asks again.
  for (auto next = subscribers_.begin(); next != subscribers_.end();) {
    Subscriber& subscriber = **next++;
    if (subscriber.is_behind()) {
      cut_.add();
      subscriber.cut();
    } else {
      subscriber.pump();
    }
  }
}

void EventStreams::on_timer(Instant now) {
  pump();
  for (const auto& subscriber : subscribers_) subscriber->beat();
  if (!subscribers_.empty()) arm(add(now, options_.heartbeat));
}

}  // namespace damper::proxy
