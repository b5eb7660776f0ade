#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "damper/base/enum_names.h"
#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/base/unix_time.h"
#include "damper/base/verdict.h"
#include "damper/webhooks/model/endpoint.h"
#include "damper/webhooks/model/id.h"

namespace damper::webhooks {

struct StoreError {
  enum class Kind : std::uint8_t {
    unavailable,  // disk full, file locked, connection lost: nothing was written; repeat later
    conflict,     // the same idempotency key with another message
    not_found,
    exists,
    stale,  // another dispatcher has changed the configuration: find the endpoints again
  };
  Kind kind = Kind::unavailable;
  std::string sentence;
};

struct Message {
  Id id{};
  std::string application;
  std::string type;
  std::string channel{};          // empty: none
  std::string ordering_key{};     // empty: none
  std::string idempotency_key{};  // empty: none
  std::string payload;
  UnixTime created{};
  std::string traceparent{};  // of the request that sent it; as W3C has it; empty: none
};

// A message and the endpoints that get it.
struct NewMessage {
  Message message;
  std::vector<Id> endpoints;
  // The version of the configuration that `endpoints` was found in: Directory::version(). Nothing:
  // they were not found, but named.
  std::optional<std::int64_t> configuration{};
};

struct Accepted {
  Id message{};
  bool repeated = false;  // the key was known: `message` is the first one's id, nothing was written
};

// A delivery that was claimed: its owner sends it now.
struct Delivery {
  Id endpoint{};
  UnixTime due{};
  std::uint32_t attempts = 0;  // that count, before this one
  Duration previous_delay{0};  // of decorrelated jitter
  std::uint64_t claim = 0;     // the fence: 0 where the store has one owner
  UnixTime since{};            // from when its age counts: its acceptance, or its last redrive
  std::shared_ptr<const Message> message;
};

// What a dispatcher has to know of an endpoint after a restart.
struct EndpointState {
  Id endpoint{};
  UnixTime blocked_until{};  // the server's retry time
  UnixTime open_until{};     // the breaker's; not in the future: it is closed or half-open
  std::uint32_t trips = 0;   // of the breaker, in a row
  std::optional<UnixTime> failing_since{};  // the first failure after the last success
  std::int64_t epoch = 0;  // of a store with several dispatchers: each change adds 1
};

struct Claimed {
  std::vector<Delivery> deliveries;  // oldest due first
  // Of the endpoint's first delivery that is neither claimed, nor in flight, nor waits for another
  // one of its key.
  std::optional<UnixTime> next_due;
  // Another dispatcher has written it since ClaimFilter::epoch: it is to be adopted before anything
  // is sent. Nothing was claimed, unless it was written during the claim.
  std::optional<EndpointState> newer_state{};
};

// A place in all deliveries, in order of their messages; {}: before the first one.
struct DeliveryPlace {
  Id message{};
  Id endpoint{};
};

struct OldDeliveries {
  std::vector<Delivery> deliveries;   // their messages have no payload
  std::optional<DeliveryPlace> next;  // where to continue; nothing: there are no more
};

// The attempt log's record.
struct Attempt {
  std::int64_t number = 0;  // of the log: in order of their ends
  Id message{};
  Id endpoint{};
  std::uint32_t attempt = 1;  // of the delivery, from 1
  UnixTime time{};            // of its end
  Duration duration{0};
  int status = 0;       // 0: no answer
  std::string outcome;  // decide::name(outcome)
  std::string error;    // why there is no answer: the CloseReason
  std::string answer;   // the beginning of its body, bounded
};

enum class Fate : std::uint8_t { delivered, again, dead };
inline constexpr EnumNames<Fate::dead> kFateNames = {"delivered", "again", "dead"};

// The end of an attempt and what follows: one transaction.
struct Settlement {
  Delivery delivery;        // as it was claimed
  Attempt attempt;          // its time is also that of a dead letter
  bool log_attempt = true;  // false: nothing was sent (held, cancelled)
  Fate fate = Fate::delivered;
  UnixTime due{};              // again: when
  std::uint32_t attempts = 0;  // again: that count
  Duration previous_delay{0};  // again
  std::string reason{};        // dead: the verdict's name, or why
};

struct DeadLetter {
  Id endpoint{};
  Id message{};
  UnixTime time{};
  std::uint32_t attempts = 0;
  std::string reason;
};

// Which deliveries of an endpoint are claimed.
struct ClaimFilter {
  bool by_key = false;  // at most one for each ordering key, the oldest message of its key
  // Only those without an attempt, and due at this time or later; nothing: all.
  std::optional<UnixTime> firsts_from{};
  // Of the endpoint's state that the caller knows; see Claimed::newer_state. Nothing: any.
  std::optional<std::int64_t> epoch{};
};

struct EndpointDue {
  Id endpoint{};
  UnixTime due{};  // of its first delivery
};

// The right to send one delivery to an endpoint whose breaker is half-open.
struct ProbeRequest {
  struct Rate {
    double rate_per_second = 1;
    std::int32_t burst = 1;
  };
  Id endpoint{};
  std::int64_t epoch = 0;  // of the state that the caller knows
  Duration lease{0};       // after which another dispatcher may probe
  std::string host{};      // whose endpoints share a rate
  Rate of_host{};
  Rate of_all{};
};
struct ProbeGrant {
  bool granted = false;
  UnixTime retry{};        // not granted: when to ask again
  std::int64_t lease = 0;  // granted: for return_probe()
};

using Setting = std::pair<std::string, std::string>;  // name, text

// What other dispatchers have changed in a store that they share.
struct StoreChange {
  std::int64_t configuration = 0;  // the version that this leads to; 0: the one before
  std::vector<EndpointDue> due{};
  std::vector<std::string> applications{};  // new
  std::vector<std::string> removed_applications{};
  std::vector<Endpoint> endpoints{};  // new, or changed
  std::vector<Id> removed_endpoints{};
  std::vector<EndpointState> states{};
  // With an empty text: removed. Those that this dispatcher has written, too.
  std::vector<Setting> settings{};
};

// A page of a list, newest first: `before` is the last one of the page before, the id of a message
// (also of a dead letter's) or the number of an attempt.
struct Page {
  static constexpr std::size_t kMost = 250;
  std::size_t limit = 50;
  std::optional<std::int64_t> before{};
};

struct MessageFilter {
  std::string application;
  std::string type{};  // empty: all
  std::optional<Id> endpoint{};
};
struct AttemptFilter {
  std::optional<Id> message{};
  std::optional<Id> endpoint{};  // one of the two
};

struct WaitingDelivery {
  Id endpoint{};
  UnixTime due{};
  std::uint32_t attempts = 0;
};
struct MessageStatus {
  Message message;
  std::vector<WaitingDelivery> waiting;
  std::vector<DeadLetter> dead;
};

// Which dead letters are to be delivered again, or deleted.
struct RedriveFilter {
  Id endpoint{};
  std::optional<Id> message{};  // one of them
  std::optional<UnixTime> from{};
  std::optional<UnixTime> until{};
  std::string type{};            // of the message; empty: all
  std::string reason{};          // empty: all
  bool discard = false;          // delete them
  bool dry_run = false;          // count only
  double rate_per_second = 100;  // their due times are spread by this rate, from `now` on
  // Of one call: repeat while `remaining` is not 0, with a `now` that is count / rate later.
  std::size_t most = 10'000;
};
struct Redriven {
  std::int64_t count = 0;
  std::int64_t remaining = 0;
};

struct StoreCounts {
  std::int64_t messages = 0;
  std::int64_t waiting = 0;
  std::int64_t dead = 0;
  std::int64_t attempts = 0;  // in the log
};

struct Retention {
  UnixTime messages_before{};  // those without waiting deliveries
  UnixTime dead_before{};
  std::int64_t most_attempts = 1'000'000;  // of the log
  std::size_t batch = 1000;                // rows a call
};

// A Store keeps applications, endpoints, messages, deliveries, attempts and dead letters.
//
// Model: every function queues an operation and returns; `done` is called once, on a thread of the
// store, with the result; or inside the call, if its queue is full. A write is durable when its
// `done` is called. Operations of one kind are executed in order of the calls. docs/design/0034 has
// the tables.
// Invariants:
//   (1) After accept()'s done without an error, the message and all of its deliveries survive a
//       crash of the process and of the machine.
//   (2) A delivery is removed only by a settlement that is `delivered` or `dead`, or with its
//       endpoint or application; one that is dead is a DeadLetter in the same transaction.
//   (3) A settlement of a claim that another owner has taken over changes nothing, and says so.
//   (4) An error means that nothing was written.
//   (5) A message whose endpoints were found is accepted only if they were found in all changes of
//       the configuration whose `done` was called before accept(), by any dispatcher.
// Thread safety: all methods may be called concurrently. The destructor completes what is queued.
class Store {
 public:
  template <class T>
  using Done = std::function<void(Expected<T, StoreError>)>;
  struct Nothing {};

  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  virtual void put_application(std::string name, UnixTime created, Done<Nothing> done) = 0;
  virtual void remove_application(std::string name, Done<Nothing> done) = 0;
  // A new one, or the configuration of one that exists.
  virtual void put_endpoint(Endpoint endpoint, Done<Nothing> done) = 0;
  // With its deliveries and dead letters.
  virtual void remove_endpoint(Id endpoint, Done<Nothing> done) = 0;
  // Its epoch is 1 more then. `conflict`, in a store with several dispatchers: `state.epoch` is not
  // the current one; what another dispatcher has written comes to watch()'s function.
  virtual void put_state(EndpointState state, Done<Nothing> done) = 0;
  // A setting of the dispatcher, such as a hold; an empty text removes it. At most 128 and 4096
  // bytes.
  virtual void put_setting(std::string name, std::string text, Done<Nothing> done) = 0;

  struct Everything {
    std::vector<std::string> applications;
    std::vector<Endpoint> endpoints;
    std::vector<EndpointState> states;
    std::vector<Setting> settings;   // by name
    std::int64_t configuration = 0;  // the version, of a store with several dispatchers
  };
  virtual void load(Done<Everything> done) = 0;
  // Calls `on_change` with what others change after load(), on a thread of the store, until the
  // store is destroyed. A store with one owner never does. REQUIRES: load() is done; called once.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): an implementation keeps it.
  virtual void watch(std::function<void(StoreChange)> /*on_change*/) {}
  // Reads what other dispatchers have changed before this call; watch()'s function has it when
  // `done` is called.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): an implementation keeps it.
  virtual void refresh(Done<Nothing> done) { done(Nothing{}); }
  // All endpoints with deliveries.
  virtual void find_due(Done<std::vector<EndpointDue>> done) = 0;

  // `stale`: another dispatcher has changed the configuration since the version of the message, and
  // the change was committed before the message was written. watch()'s function has it already.
  virtual void accept(NewMessage message, Done<Accepted> done) = 0;
  // The first `most` deliveries of the endpoint that are due, without those of the messages in
  // `skip`: the caller's own, in flight. What the caller has claimed and does not name can be
  // claimed again; what another dispatcher has claimed cannot, while that one is alive. With
  // filter.by_key, none whose key has one in flight. next_due is of those of the filter. `skip` was
  // current when the call was made; a caller has one claim of an endpoint in progress.
  virtual void claim(Id endpoint, UnixTime now, std::size_t most, ClaimFilter filter,
                     std::vector<Id> skip, Done<Claimed> done) = 0;
  // Reads the next `most` deliveries after `place` of messages that are older than `before`: of
  // these, the deliveries whose age counts from before `before` and that no other dispatcher has in
  // flight. They are not claimed: a settlement of one changes nothing if it was claimed meanwhile.
  virtual void find_old(DeliveryPlace place, UnixTime before, std::size_t most,
                        Done<OldDeliveries> done) = 0;
  // False: the claim was lost, and nothing was changed.
  virtual void settle(Settlement settlement, Done<bool> done) = 0;

  // Whether other dispatchers may use the store: a probe then needs take_probe().
  [[nodiscard]] virtual bool is_shared() const noexcept { return false; }
  // Of all dispatchers, one gets it. put_state() ends the lease, unless the state is half-open.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): an implementation keeps them.
  virtual void take_probe(ProbeRequest /*request*/, Done<ProbeGrant> done) {
    done(ProbeGrant{.granted = true});
  }
  // Nothing was sent: another dispatcher may probe at once. `lease` is the grant's; if it has
  // ended, nothing is changed.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): an implementation keeps it.
  virtual void return_probe(Id /*endpoint*/, std::int64_t /*lease*/, Done<Nothing> done) {
    done(Nothing{});
  }

  virtual void list_messages(MessageFilter filter, Page page, Done<std::vector<Message>> done) = 0;
  virtual void find_message(std::string application, Id id, Done<MessageStatus> done) = 0;
  virtual void list_attempts(AttemptFilter filter, Page page, Done<std::vector<Attempt>> done) = 0;
  virtual void list_dead(Id endpoint, Page page, Done<std::vector<DeadLetter>> done) = 0;
  virtual void redrive(RedriveFilter filter, UnixTime now, Done<Redriven> done) = 0;
  virtual void count(Done<StoreCounts> done) = 0;
  // Deletes up to `batch` rows of each kind; the result is the number of rows.
  virtual void prune(Retention retention, Done<std::int64_t> done) = 0;
};

}  // namespace damper::webhooks
