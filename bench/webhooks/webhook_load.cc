// The processes around the dispatcher of bench/webhooks/measure: a receiver, a sender, and a
// database with many deliveries.
//
//   damper_webhook_load receive                             prints its port, runs until SIGTERM
//   damper_webhook_load post PORT TARGET COUNT IN_FLIGHT [TYPES]
//   damper_webhook_load pace PORT TARGET COUNT PER_SECOND [TYPES]
//   damper_webhook_load fill FILE ENDPOINTS DELIVERIES URL  writes them through the store
//
// post and pace send payloads of 1 KiB. Without TYPES each is the body of a POST: the floor. With
// TYPES it is that of a message to the dispatcher's API: of this type, or if it is a number, of the
// types load.t0 to load.t(TYPES-1) in turn. They print a line of JSON: accepted, refused, seconds,
// and the quantiles of the answers.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "damper/http/client/client.h"
#include "damper/http/client/round_trip.h"
#include "damper/http/net/descriptor_limit.h"
#include "damper/http/server/server.h"
#include "damper/run/clock.h"
#include "damper/webhooks/key.h"
#include "damper/webhooks/store/sqlite_store.h"
#include "receiver.h"

namespace {

using namespace damper;

constexpr std::size_t kPayload = 1024;

int receive() {
  http::Loop loop;
  bench::Receiver receiver(loop);
  http::Server server(loop, {}, receiver);
  if (const auto error = server.listen()) {
    std::fprintf(stderr, "%s\n", error->c_str());
    return 1;
  }
  std::printf("%d\n", server.port());
  std::fflush(stdout);
  loop.run();
  return 0;
}

class Load;

// A Sender has one request in flight.
class Sender final : private http::RoundTrip {
 public:
  Sender(Load& load, http::Pool& pool, std::string target) : load_(load), pool_(pool) {
    request_.method = "POST";
    request_.scheme = "http";
    request_.authority = pool.authority();
    request_.target = std::move(target);
    request_.fields.add("content-type", "application/json");
  }
  void send(std::string body) {
    request_.body = std::move(body);
    sent_ns_ = bench::monotonic_ns();
    start(pool_, request_, 65536);
  }

 private:
  std::span<const http::Field> fields(const http::Request& request, Instant /*now*/) override {
    return request.fields.view();
  }
  void on_round_trip(http::CloseReason reason) override;

  Load& load_;
  http::Pool& pool_;
  http::Request request_;
  std::int64_t sent_ns_ = 0;
};

// A Load sends `count` requests: IN_FLIGHT at a time, or at a pace.
class Load {
 public:
  Load(std::uint16_t port, std::string target, std::int64_t count, std::string types)
      : dialer_(loop_, {}),
        pool_(dialer_, {.tls = false, .host = "127.0.0.1", .port = port}, options(), nullptr,
              metrics_),
        target_(std::move(target)),
        count_(count),
        types_(std::move(types)),
        type_count_(std::atoll(types_.c_str())),
        pacer_(loop_, *this, &Load::on_pace) {}

  int post(std::int64_t in_flight) {
    began_ns_ = bench::monotonic_ns();
    for (std::int64_t i = 0; i < in_flight && sent_ < count_; ++i) send_one();
    loop_.run();
    return report();
  }
  int pace(double per_second) {
    interval_ = Duration(static_cast<std::int64_t>(1e9 / per_second));
    began_ns_ = bench::monotonic_ns();
    next_ = loop_.now();
    pacer_.arm(next_);
    loop_.run();
    return report();
  }

  void on_answer(Sender& sender, bool good, std::int64_t latency_ns) {
    (good ? accepted_ : refused_) += 1;
    latencies_ns_.push_back(latency_ns);
    spare_.push_back(&sender);
    if (accepted_ + refused_ == count_) return loop_.stop();
    if (interval_ == Duration{0} && sent_ < count_) send_one();
  }

 private:
  static http::PoolOptions options() {
    http::PoolOptions options;
    options.max_connections = 1000;
    return options;
  }
  void on_pace(Instant now) {
    while (sent_ < count_ && next_ <= now) {
      send_one();
      next_ = add(next_, interval_);
    }
    if (sent_ < count_) pacer_.arm(next_);
  }
  void send_one() {
    if (spare_.empty()) {
      senders_.push_back(std::make_unique<Sender>(*this, pool_, target_));
      spare_.push_back(senders_.back().get());
    }
    Sender& sender = *spare_.back();
    spare_.pop_back();
    std::string body = bench::stamped_payload(kPayload);
    if (!types_.empty()) {
      const std::string type =
          type_count_ > 0 ? "load.t" + std::to_string(sent_ % type_count_) : types_;
      body = R"({"type":")" + type + R"(","payload":)" + body + "}";
    }
    ++sent_;
    sender.send(std::move(body));
  }
  int report() {
    const double seconds = static_cast<double>(bench::monotonic_ns() - began_ns_) / 1e9;
    std::ranges::sort(latencies_ns_);
    const auto at = [this](std::size_t percent) {
      if (latencies_ns_.empty()) return std::int64_t{0};
      return latencies_ns_[(latencies_ns_.size() - 1) * percent / 100] / 1000;
    };
    std::printf(
        "{\"accepted\":%lld,\"refused\":%lld,\"seconds\":%.6f,\"p50_us\":%lld,"
        "\"p99_us\":%lld}\n",
        static_cast<long long>(accepted_), static_cast<long long>(refused_), seconds,
        static_cast<long long>(at(50)), static_cast<long long>(at(99)));
    return refused_ == 0 ? 0 : 1;
  }

  http::Loop loop_;
  http::Dialer dialer_;
  http::ClientMetrics metrics_;
  http::Pool pool_;
  const std::string target_;
  const std::int64_t count_;
  const std::string types_;
  const std::int64_t type_count_;
  http::Loop::MemberTimer<Load> pacer_;
  Duration interval_{0};
  Instant next_{};
  std::int64_t began_ns_ = 0;
  std::int64_t sent_ = 0;
  std::int64_t accepted_ = 0;
  std::int64_t refused_ = 0;
  std::vector<std::int64_t> latencies_ns_;
  std::vector<std::unique_ptr<Sender>> senders_;
  std::vector<Sender*> spare_;
};

void Sender::on_round_trip(http::CloseReason reason) {
  const int status = reason == http::CloseReason::finished ? response().status : 0;
  load_.on_answer(*this, status >= 200 && status < 300, bench::monotonic_ns() - sent_ns_);
}

// Waits for the writes of a store, a bounded number of them at a time.
class Writes {
 public:
  template <class T>
  [[nodiscard]] webhooks::Store::Done<T> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return under_way_ < 5000; });
    ++under_way_;
    return [this](const Expected<T, webhooks::StoreError>& result) {
      if (!result) {
        std::fprintf(stderr, "%s\n", result.error().sentence.c_str());
        std::abort();
      }
      const std::lock_guard guard(mutex_);
      --under_way_;
      changed_.notify_all();
    };
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return under_way_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int under_way_ = 0;
};

// Deliveries are due in an hour: they wait.
int fill(const std::string& file, std::int64_t endpoints, std::int64_t deliveries,
         const std::string& url) {
  using webhooks::Id, webhooks::Store;
  auto opened = webhooks::SqliteStore::open({.path = file});
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().c_str());
    return 1;
  }
  const std::unique_ptr<Store> store = *std::move(opened);
  Writes writes;
  const UnixTime now = run::wall_time();
  store->put_application("default", now, writes.next<Store::Nothing>());
  webhooks::IdMaker ids(1);
  std::vector<Id> known;
  for (std::int64_t i = 0; i < endpoints; ++i) {
    const auto secret = webhooks::SigningKey::generate(webhooks::Scheme::v1).text();
    webhooks::Endpoint endpoint{.id = ids.next(now),
                                .application = "default",
                                .created = now,
                                .config = {.url = url + "?endpoint=" + std::to_string(i),
                                           .types = {"load.t" + std::to_string(i)},
                                           .secrets = {{.key = secret}}}};
    known.push_back(endpoint.id);
    store->put_endpoint(std::move(endpoint), writes.next<Store::Nothing>());
  }
  for (std::int64_t i = 0; i < deliveries; ++i) {
    const auto index = static_cast<std::size_t>(i % endpoints);
    store->accept({.message = {.id = ids.next(now),
                               .application = "default",
                               .type = "load.t" + std::to_string(index),
                               .payload = bench::stamped_payload(kPayload),
                               .created = now + std::chrono::hours(1)},
                   .endpoints = {known[index]}},
                  writes.next<webhooks::Accepted>());
  }
  writes.wait();
  return 0;
}

int usage() {
  std::fputs("usage: damper_webhook_load receive | post | pace | fill: see its source\n", stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  http::raise_descriptor_limit();
  const auto number = [&](std::size_t index) {
    return index < words.size() ? std::atoll(words[index].c_str()) : 0LL;
  };
  if (words.empty()) return usage();
  if (words[0] == "receive") return receive();
  if (words[0] == "fill" && words.size() == 5) {
    return fill(words[1], number(2), number(3), words[4]);
  }
  if ((words[0] == "post" || words[0] == "pace") && words.size() >= 5) {
    Load load(static_cast<std::uint16_t>(number(1)), words[2], number(3),
              words.size() > 5 ? words[5] : "");
    return words[0] == "post" ? load.post(number(4)) : load.pace(static_cast<double>(number(4)));
  }
  return usage();
}
