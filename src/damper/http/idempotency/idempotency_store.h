#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/enum_names.h"
#include "damper/base/instant.h"
#include "damper/base/unix_time.h"
#include "damper/http/codec/message.h"
#include "damper/observe/registry.h"

namespace damper::http {

// A Fingerprint tells one request from another: SHA-256.
using Fingerprint = std::array<std::uint8_t, 32>;

// Of method, authority, target and body. Not of the other fields: a second attempt has another
// deadline and another attempt number, and is the same request.
[[nodiscard]] Fingerprint fingerprint(const Request& request);

// What a request finds under its key.
enum class KeyState : std::uint8_t {
  first,      // nothing: it is to be carried out, and completed or released
  replayed,   // the answer to the same request
  under_way,  // the same request is being carried out
  mismatch,   // another request had this key
  full,       // no room: all that is kept is under way
  broken,     // the store does not work
};
inline constexpr EnumNames<KeyState::broken> kKeyStateNames = {"first",    "replayed", "under_way",
                                                               "mismatch", "full",     "broken"};
[[nodiscard]] constexpr std::string_view name(KeyState state) noexcept {
  return kKeyStateNames[state];
}

// What a store has done, for metrics. Any thread may read it.
struct IdempotencyTally {
  std::array<std::atomic<std::uint64_t>, kKeyStateNames.size()> claims{};
  std::atomic<std::uint64_t> evictions{0};    // answers removed before their time, for room
  std::atomic<std::uint64_t> expirations{0};  // answers removed in time
  std::atomic<std::uint64_t> recovered{0};    // claims whose first owner had crashed
  std::atomic<std::uint64_t> lost{0};         // completed too late: another owner had the key
  std::atomic<std::uint64_t> unkept{0};       // answers without room: answer_not_kept() instead
  std::atomic<std::uint64_t> errors{0};       // of the store itself
  std::atomic<std::uint64_t> entries{0};
  std::atomic<std::uint64_t> bytes{0};  // 0: unknown
};

// Stored instead of an answer for which there is no room: a 409 with the text that the request was
// executed.
[[nodiscard]] Response answer_not_kept();

// An IdempotencyStore maps the keys of executed requests to their answers.
//
// Why: a client that lost its connection cannot know whether its order was placed. With a key it
// retries, and gets the first answer.
// Model: claim() creates an entry that is under way and returns a token; complete() stores the
// answer, release() removes the entry: nothing was done. Both need the token, so that an owner
// whose lease has expired, and whose key another one has, changes nothing (trap W2).
// Invariants:
//   (1) Between a claim that returned `first` and its complete, release or end of lease, each other
//       claim of the key returns under_way or mismatch.
//   (2) After complete a claim of it returns replayed or mismatch, until the entry expires or is
//       evicted. The replayed answer is the first one or, if that does not fit, answer_not_kept().
//   (3) An entry that is under way is never evicted.
//   (4) Entries and bytes are bounded.
// Time is wall time, since a durable store outlives the process.
// Thread safety: none, but for tally(): used on the loop's thread. A store may promise more.
class IdempotencyStore {
 public:
  struct Claim {
    KeyState state = KeyState::broken;
    std::uint64_t token = 0;           // of a `first`
    bool recovered = false;            // of a `first`: an earlier owner has crashed
    std::optional<Response> answer{};  // of a `replayed`
  };

  virtual ~IdempotencyStore() = default;

  [[nodiscard]] virtual Claim claim(std::string_view key, const Fingerprint& request,
                                    UnixTime now) = 0;
  // False: another owner has the key, or the store is broken; both are counted. The request is not
  // executed again by this process in either case.
  virtual bool complete(std::string_view key, std::uint64_t token, const Response& answer,
                        UnixTime now) = 0;
  virtual void release(std::string_view key, std::uint64_t token) = 0;

  [[nodiscard]] const IdempotencyTally& tally() const noexcept { return tally_; }

 protected:
  Claim counted(Claim claim) noexcept {
    tally_.claims[static_cast<std::size_t>(claim.state)].fetch_add(1, std::memory_order_relaxed);
    return claim;
  }
  IdempotencyTally tally_;
};

// Shows a store in the registry, with the label `store`, for as long as the Collection lives:
//   damper_idempotency_requests_total{result}   first, replayed, under_way, mismatch, full, broken
//   damper_idempotency_evictions_total          answers that went before their time
//   damper_idempotency_expirations_total        answers that went in time
//   damper_idempotency_recovered_total          keys whose first owner had died
//   damper_idempotency_lost_total               answers that came after the lease was over
//   damper_idempotency_unkept_total             answers without room: a 409 is replayed instead
//   damper_idempotency_errors_total             of the database
//   damper_idempotency_entries, _bytes
// REQUIRES: the store and the registry outlive the Collection.
// Cost: nothing but at a scrape.
[[nodiscard]] observe::Registry::Collection show(const IdempotencyStore& store, std::string name,
                                                 observe::Registry& registry);

}  // namespace damper::http
