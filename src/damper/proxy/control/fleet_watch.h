#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/instant.h"
#include "damper/proxy/control/etcd_answer.h"
#include "damper/schedule/backoff.h"

namespace damper::proxy {

// What a fleet says: at PREFIX/policy the text of a proxy's file, at PREFIX/switches/... one order
// a key, as PUT /switches has it.
struct Fleet {
  std::optional<std::string> policy{};
  std::map<std::string, std::string> switches{};  // by what comes after PREFIX/switches/
  std::int64_t revision = 0;                      // of etcd's store

  friend bool operator==(const Fleet&, const Fleet&) = default;
};

struct FleetWatchOptions {
  std::string prefix;         // "/damper/prod"
  std::size_t endpoints = 1;  // how many members of etcd there are to ask
  Duration read_timeout = std::chrono::seconds(5);
  // A watch is ended after this time, and all keys are read again. This detects a black-holed
  // connection, and every change that the watch missed.
  Duration watch_for = std::chrono::minutes(1);
  schedule::BackoffOptions backoff{.jitter = schedule::Jitter::equal,
                                   .base = std::chrono::milliseconds(500),
                                   .cap = std::chrono::seconds(15)};
};

// What to do next, in this order: end the request that is under way; send another; hand on what
// changed; wake the watch at a time, if nothing comes before.
struct FleetStep {
  struct Request {
    std::size_t endpoint = 0;
    std::string path, body;
  };
  struct Change {
    std::string scope{};  // of a switch: after PREFIX/switches/
    bool is_policy = false;
    std::optional<std::string> text{};  // nothing: it is gone
  };
  bool close = false;
  std::optional<Request> send{};
  std::vector<Change> changes{};
  Instant wake = kNever;
  bool read = false;      // all keys were read
  bool restored = false;  // etcd answers again
  std::string lost{};     // the reason, when it stops to answer or never did
};

// A FleetWatch decides what to ask of etcd next, and what its answers change: bytes and time in,
// orders out; a driver does the I/O.
//
// Model: all keys are read (range), then watched from the revision after; every watch_for, and
// after every failure, all are read again and compared. A failure of any kind (no connection, a
// status, an answer that cannot be read) is followed by a wait by the engine's backoff and another
// member.
// Invariants:
//   (1) What failed is asked again no sooner than the backoff says, which grows until a watch has
//       come about.
//   (2) A change is reported once. A read reports what differs from what was known: also what is
//       gone.
//   (3) A policy that is gone changes nothing in `fleet()`: to delete a key is not to configure.
//   (4) Whatever comes: at most kMostEtcdBytes are kept of an answer.
// Thread safety: none.
class FleetWatch {
 public:
  // What is known already, from the copy on disk.
  FleetWatch(const FleetWatchOptions& options, Fleet known);

  [[nodiscard]] FleetStep start(Instant now, double draw);
  // Of the request under way.
  [[nodiscard]] FleetStep on_status(int status, Instant now, double draw);
  [[nodiscard]] FleetStep on_bytes(std::string_view bytes, Instant now, double draw);
  // It is over: whole, or why not.
  [[nodiscard]] FleetStep on_end(bool whole, std::string_view why, Instant now, double draw);
  [[nodiscard]] FleetStep on_timer(Instant now, double draw);

  [[nodiscard]] const Fleet& fleet() const noexcept { return fleet_; }
  [[nodiscard]] bool is_connected() const noexcept { return connected_; }
  [[nodiscard]] std::uint64_t errors() const noexcept { return errors_; }
  [[nodiscard]] std::optional<Instant> last_response() const noexcept { return last_response_; }

 private:
  enum class Phase : std::uint8_t { idle, resting, reading, watching };

  FleetStep read(Instant now);
  FleetStep fail(std::string why, Instant now, double draw);
  FleetStep on_read(Instant now, double draw);
  FleetStep on_lines(Instant now, double draw);
  void take(const EtcdEntry& entry, std::vector<FleetStep::Change>& changes);
  FleetStep wait() const;

  const FleetWatchOptions options_;
  Fleet fleet_;
  Phase phase_ = Phase::idle;
  std::size_t endpoint_ = 0;
  std::uint32_t failures_ = 0;  // in a row, without a watch that came about
  schedule::Backoff backoff_;
  Instant wake_ = kNever;
  std::string bytes_;
  bool connected_ = false;
  bool said_lost_ = false;
  std::uint64_t errors_ = 0;
  std::optional<Instant> last_response_;
};

}  // namespace damper::proxy
