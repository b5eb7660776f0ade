#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "damper/base/instant.h"
#include "damper/http/net/loop.h"

namespace damper::drills {

// A Load begins calls at a steady rate, however long they take: an open loop, as the world is. A
// closed one would be kind to a slow server.
class Load : public http::Loop::Timer {
 public:
  struct Sample {
    Instant began;
    Duration took;
    bool good;  // it succeeded
  };
  // Begins one call, and calls back when it has ended.
  using Begin = std::function<void(std::uint64_t number, std::function<void(bool good)> done)>;

  Load(http::Loop& loop, Begin begin) : Timer(loop), begin_(std::move(begin)) {}

  // Plays so long at the rate, runs the loop until then, and on until all calls have ended.
  void play(double rate_per_second, Duration length);
  // The same, but calls go on when it returns; settle() waits for them.
  void play_on(double rate_per_second, Duration length);
  void settle();
  // A closed loop: `width` calls under way all the time. The calls that ended well in a second.
  [[nodiscard]] double saturate(int width, Duration length);

  [[nodiscard]] const std::vector<Sample>& samples() const noexcept { return samples_; }
  // Of the calls that began in [from, to): how many, the share that was good, and the latency that
  // that this share of the good ones did not exceed.
  struct Summary {
    std::int64_t calls = 0;
    std::int64_t good = 0;
    [[nodiscard]] double goodput() const noexcept {
      return calls == 0 ? 0 : static_cast<double>(good) / static_cast<double>(calls);
    }
    std::vector<Duration> sorted;  // of the good ones
    [[nodiscard]] Duration percentile(double percent) const;
  };
  [[nodiscard]] Summary summary(Instant from = Instant::min(), Instant to = kNever) const;
  void forget() { samples_.clear(); }

 private:
  void on_timer(Instant now) override;
  void begin_one();

  Begin begin_;
  double rate_ = 0;
  Instant started_{};
  Instant until_{};
  std::uint64_t begun_ = 0;   // in this play
  std::uint64_t number_ = 0;  // ever
  std::uint64_t under_way_ = 0;
  bool playing_ = false;
  int width_ = 0;  // of a closed loop
  std::vector<Sample> samples_;
};

}  // namespace damper::drills
