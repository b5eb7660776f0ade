#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/demo/demo_backends.h"
#include "damper/demo/demo_record.h"
#include "damper/engine/policy.h"
#include "damper/engine/tally.h"

namespace damper::demo {

struct LoadOptions {
  std::vector<std::string> targets{};  // "http://127.0.0.1:40001", in turn
  std::string path = "/";
  // Requests start at this rate; with `clients`, one of each client every `every` until `until`,
  // all clients in step. A client that is busy when a request is due leaves that one out.
  double rate_per_second = 240;
  int clients = 0;
  Duration every{0};
  Duration until = kForever;
  // How a client retries by itself, as most code does. Clients of a proxy leave that to it.
  std::uint32_t attempts = 1;
  Duration delay{0};          // before the second attempt, exactly
  Duration longest_delay{0};  // each further delay is twice the last, up to this; 0: always `delay`
  Duration attempt_timeout = std::chrono::milliseconds(250);
  // Instead of all that: requests of a GuardedClient, whose dependency has this policy.
  std::optional<engine::Policy> policy{};
};

// A LoadGenerator is the clients of one side of the demo or of a drill.
//
// Why open loop: clients that wait for an answer before they ask again spare a slow service, and
// hide what users would have felt.
// Model: requests are started evenly, or by clients in step, on a loop and a thread of its own;
// each goes to the next of the targets, and each further attempt to the one after it. Attempts
// after the first have the header damper-attempt.
// Thread safety: all methods may be called by any thread but its own; sample() by one at a time.
class LoadGenerator {
 public:
  // Starts at `begun`, from which the times in the record count.
  [[nodiscard]] static Expected<std::unique_ptr<LoadGenerator>> start(const LoadOptions& options,
                                                                      Instant begun);
  LoadGenerator(const LoadGenerator&) = delete;
  LoadGenerator& operator=(const LoadGenerator&) = delete;
  ~LoadGenerator();  // Requests under way are given up, and not in the record.

  void set_rate(double per_second);
  [[nodiscard]] std::uint64_t started() const noexcept;
  [[nodiscard]] std::uint64_t under_way() const noexcept;
  // Marks the requests under way and returns their number; marked_ended() is when the last ended.
  std::uint64_t mark();
  [[nodiscard]] std::optional<Instant> marked_ended() const;
  // Returns the requests that ended since the last call.
  [[nodiscard]] std::vector<LoadCall> take();
  // What the policy's dependency counted. REQUIRES: the options have a policy.
  [[nodiscard]] engine::Tally tally() const;

  // Adds to the record what happened since the last time: one more bucket, or, if `late`, a part
  // of its last one.
  void sample(const DemoBackends& backends, LaneRecord& record, bool late = false);

 private:
  class Call;
  class Client;
  class Pacer;
  struct Running;
  explicit LoadGenerator(std::unique_ptr<Running> running);

  std::unique_ptr<Running> running_;
  std::uint64_t sampled_started_ = 0;
  DemoBackends::Arrivals sampled_{};
};

// The number of the first scheduled request of a client after `elapsed`.
[[nodiscard]] constexpr std::int64_t next_request(Duration elapsed, Duration every) noexcept {
  return elapsed / every + 1;
}

}  // namespace damper::demo
