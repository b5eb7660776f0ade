#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/demo/demo_record.h"

namespace damper::demo {

struct DemoFleetOptions {
  std::vector<std::string> targets{};  // "http://127.0.0.1:40001", in turn
  std::string path = "/";
  double rate_per_second = 240;
  // What clients do by themselves. The guarded ones leave it to the proxy; the others do what is
  // in most code: try again, soon, as often as it says.
  std::uint32_t attempts = 1;
  Duration delay{0};  // before each further one, exactly
  Duration attempt_timeout = std::chrono::milliseconds(250);
};

// A DemoFleet is the clients of one side: requests at a rate that does not ask how it goes.
//
// Why open loop: clients that wait for an answer before they ask again spare a slow service, and
// hide what users would have felt.
// Model: requests are started evenly, on a loop and a thread of their own; each goes to the next of
// the targets, and each further attempt to the one after it.
// Thread safety: all methods may be called by any thread but its own.
class DemoFleet {
 public:
  // Begins at once; times in the record count from `begun`.
  [[nodiscard]] static Expected<std::unique_ptr<DemoFleet>> start(const DemoFleetOptions& options,
                                                                  Instant begun);
  DemoFleet(const DemoFleet&) = delete;
  DemoFleet& operator=(const DemoFleet&) = delete;
  ~DemoFleet();  // Those under way are given up, and not in the record.

  void set_rate(double per_second);
  [[nodiscard]] std::uint64_t started() const noexcept;
  [[nodiscard]] std::uint64_t under_way() const noexcept;
  // Remembers which are under way now, and says how many; when they all are over is asked later.
  std::uint64_t mark();
  [[nodiscard]] std::optional<Instant> marked_ended() const;
  // Hands over the calls that ended since it was last asked.
  [[nodiscard]] std::vector<DemoCall> take();

 private:
  class Call;
  class Pace;
  struct Running;
  explicit DemoFleet(std::unique_ptr<Running> running);

  std::unique_ptr<Running> running_;
};

}  // namespace damper::demo
