// What the defaults of an Admission do in an overload, in virtual time.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <vector>

#include "damper/base/random.h"
#include "damper/http/server/admission.h"

namespace damper::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kCores = 10;
constexpr double kWork = 0.01;  // seconds of one core for a request, on average
constexpr double kCapacity = kCores / kWork;

// A server of ten cores that its requests share, behind an Admission with its defaults. Arrivals
// are Poisson, work is exponential, callers wait for half a second.
class SharedServer {
 public:
  explicit SharedServer(std::uint64_t seed) : random_(seed) {}

  struct Seen {
    int offered = 0, good = 0, late = 0, refused = 0;
    std::vector<double> latencies;  // of the good ones
    [[nodiscard]] double p99() {
      const auto at = static_cast<std::ptrdiff_t>(latencies.size() * 99 / 100);
      std::nth_element(latencies.begin(), latencies.begin() + at, latencies.end());
      return latencies[static_cast<std::size_t>(at)];
    }
  };

  // Offers `load` times the capacity for `length` seconds.
  Seen run(double load, double length) {
    Seen seen;
    const double end = now_ + length;
    double arrival = now_ + exponential(1 / (load * kCapacity));
    while (now_ < end) {
      const double share =
          std::min(1.0, kCores / static_cast<double>(std::max<std::size_t>(running_.size(), 1)));
      const auto first =
          std::min_element(running_.begin(), running_.end(),
                           [](const Request* a, const Request* b) { return a->left < b->left; });
      const double finish = first == running_.end() ? end : now_ + (*first)->left / share;
      const Instant wake = admission_.wake();
      const double alarm = wake == kNever ? end : std::max(now_, in_seconds(wake));
      const double next = std::min({finish, arrival, alarm, end});
      for (Request* request : running_) request->left -= (next - now_) * share;
      now_ = next;
      if (next == finish && first != running_.end()) {
        on_finish(first, seen);
      } else if (next == arrival) {
        arrival = now_ + exponential(1 / (load * kCapacity));
        on_arrival(seen);
      } else {
        admission_.expire(instant(now_) + Duration{1}, random_.draw(), refusals_);
      }
      pump(seen);
    }
    return seen;
  }

 private:
  struct Request : Admission::Item {
    Request(Instant at, double needs)
        : Item(admit::Criticality::critical, at + milliseconds(500)), arrived(at), left(needs) {}
    Instant arrived;
    double left;
  };

  static Instant instant(double at) {
    return Instant{Duration{static_cast<Duration::rep>(at * 1e9)}};
  }
  static double in_seconds(Instant at) {
    return std::chrono::duration<double>(at.time_since_epoch()).count();
  }
  double exponential(double mean) { return -std::log(1 - random_.draw()) * mean; }

  void on_arrival(Seen& seen) {
    ++seen.offered;
    Request& request = requests_.emplace_back(instant(now_), exponential(kWork));
    if (admission_.offer(request, instant(now_), random_.draw(), refusals_) ==
        Admission::Answer::runs) {
      running_.push_back(&request);
    }
  }
  void on_finish(std::vector<Request*>::iterator first, Seen& seen) {
    Request* request = *first;
    running_.erase(first);
    admission_.on_finished(*request, instant(now_), false);
    if (instant(now_) < request->deadline()) {
      ++seen.good;
      seen.latencies.push_back(now_ - in_seconds(request->arrived));
    } else {
      ++seen.late;
    }
  }
  void pump(Seen& seen) {
    while (Admission::Item* item = admission_.try_next(instant(now_), random_.draw(), refusals_)) {
      running_.push_back(static_cast<Request*>(item));
    }
    seen.refused += static_cast<int>(refusals_.size());
    refusals_.clear();
  }

  Random random_;
  Admission admission_{AdmissionOptions{}};
  Admission::Refusals refusals_;
  std::deque<Request> requests_;
  std::vector<Request*> running_;
  double now_ = 1;
};

TEST(AdmissionOverload, AtThreeTimesItsCapacityAServerDoesItsWorkInTime) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SharedServer server(seed);
    (void)server.run(0.5, 3);
    SharedServer::Seen calm = server.run(0.5, 5);
    EXPECT_EQ(calm.refused, 0) << "seed " << seed;
    (void)server.run(3, 2);
    SharedServer::Seen storm = server.run(3, 8);
    EXPECT_GT(storm.good, 0.85 * 8 * kCapacity) << "seed " << seed;
    EXPECT_LT(storm.p99(), 2.5 * calm.p99() + 0.005) << "seed " << seed;
    EXPECT_LT(storm.late, storm.good / 100) << "seed " << seed;
  }
}

TEST(AdmissionOverload, WhenTheStormIsOverNobodyIsRefused) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SharedServer server(seed);
    (void)server.run(0.7, 3);
    (void)server.run(5, 5);
    (void)server.run(0.7, 1);
    const SharedServer::Seen after = server.run(0.7, 4);
    EXPECT_GT(after.good, 0.95 * after.offered) << "seed " << seed;
  }
}

}  // namespace
}  // namespace damper::http
