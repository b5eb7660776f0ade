#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "damper/base/instant.h"
#include "damper/base/unix_time.h"
#include "damper/webhooks/dispatch/deliveries.h"
#include "damper/webhooks/model/id.h"

namespace damper::webhooks {

// Holds are the kill switches of a dispatcher: for all deliveries, for those of an application and
// for those of an endpoint.
//
// Model: an attempt is held if its endpoint, its application or everything is held. A hold has a
// reason, and may have an end: then it is over without any call. When a hold has ended is
// remembered: the age of what it held counts from then.
// Invariants:
//   (1) At most kMost holds of endpoints and kMost of applications, so that a tenant that holds its
//       endpoints keeps no operator from holding the tenant; one more is refused. Those of
//       everything are always accepted. Holds that have ended are forgotten to make room.
// Thread safety: none.
// Cost: without holds, held_until() is two comparisons.
class Holds {
 public:
  static constexpr std::size_t kMost = 1000;

  // False: there are too many. An order that is not `off` ends the hold.
  bool set(const HoldScope& scope, Hold which, const HoldOrder& order, Instant now);
  // When an attempt to this endpoint may start; nothing: now. kNever: after another order.
  [[nodiscard]] std::optional<Instant> held_until(Hold which, std::string_view application,
                                                  Id endpoint, Instant now) const noexcept;
  // The widest scope that holds an attempt to this endpoint; nothing: none does.
  [[nodiscard]] std::optional<HoldScope> holding_scope(Hold which, std::string_view application,
                                                       Id endpoint, Instant now) const;
  // When the last hold of this endpoint's attempts has ended; Instant::min(): none has.
  [[nodiscard]] Instant last_end(std::string_view application, Id endpoint,
                                 Instant now) const noexcept;
  // Of this scope itself; scopes above are ignored.
  [[nodiscard]] admit::SwitchStatus status(const HoldScope& scope, Hold which, Instant now) const;
  // Those that are in force, the widest first.
  [[nodiscard]] std::vector<HoldView> list(Instant now) const;

 private:
  struct Entry {
    Instant until = kNever;
    std::string reason;
    std::string application;  // of an endpoint
  };
  struct Scopes {
    std::optional<Entry> all;
    std::map<std::string, Entry, std::less<>> applications;
    std::unordered_map<Id, Entry> endpoints;

    [[nodiscard]] std::size_t size() const noexcept {
      return applications.size() + endpoints.size();
    }
  };
  void drop_ended(Instant now);
  [[nodiscard]] Entry* find(const HoldScope& scope, Hold which);
  [[nodiscard]] const Entry* find(const HoldScope& scope, Hold which) const;

  std::array<Scopes, kHoldNames.size()> scopes_{};  // by Hold
};

// A hold as a setting of the store, so that it survives a restart: its name, and its text at `now`.
// The text of an order that is not `off` is that of a hold which ends at `now`.
[[nodiscard]] std::string hold_setting(const HoldScope& scope, Hold which);
[[nodiscard]] std::string hold_text(const HoldScope& scope, const HoldOrder& order, UnixTime now);

struct StoredHold {
  HoldScope scope;
  Hold which{};
  HoldOrder order;
};
// Nothing: the setting is not a hold. The length of one that has ended is 0 or less.
[[nodiscard]] std::optional<StoredHold> find_stored_hold(std::string_view name,
                                                         std::string_view text, UnixTime now);

}  // namespace damper::webhooks
