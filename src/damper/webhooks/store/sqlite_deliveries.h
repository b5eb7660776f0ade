#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "damper/store/sqlite.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

// The place of a delivery in its table.
struct DeliveryKey {
  Id endpoint{};
  UnixTime due{};
  Id message{};
  UnixTime since{};  // from when its age counts; {}: the message's creation
};

// SqliteDeliveries are the statements that insert, move and remove deliveries.
//
// Model: `behind` orders the deliveries of an ordering key. It is kept for all endpoints, so that
// an endpoint's ordering can be changed at any time; a claim without order reads both kinds.
// Invariants:
//   (1) Of the deliveries of an endpoint with one ordering key, that with the lowest message id
//       has behind = 0 and the others behind = 1. One without a key has 0.
//   (2) Each function reads and writes a bounded number of rows, however many wait.
// Errors, thread safety: as SqliteWrites.
class SqliteDeliveries {
 public:
  explicit SqliteDeliveries(store::Database& file);

  // Without effect if the application has no such endpoint, or the endpoint has the delivery.
  void insert(const DeliveryKey& key, std::string_view application, std::string_view ordering_key);
  // False: there is no such delivery.
  [[nodiscard]] bool settle(const Settlement& settlement);
  [[nodiscard]] Redriven redrive(const RedriveFilter& filter, UnixTime now);

 private:
  [[nodiscard]] bool try_move(const Settlement& settlement);
  [[nodiscard]] bool try_remove(const Settlement& settlement);
  void log(const Attempt& attempt);
  void bury(const Settlement& settlement);
  void unbury(Id endpoint, Id message);
  void revive(Id endpoint, Id message, UnixTime due);
  [[nodiscard]] std::optional<Id> find_oldest(Id endpoint, std::string_view ordering_key);
  void set_behind(Id endpoint, Id message, bool behind);

  store::Database& file_;
  store::Statement insert_;
  store::Statement move_;
  store::Statement remove_;
  store::Statement find_oldest_;
  store::Statement set_behind_;
  store::Statement log_;
  store::Statement bury_;
  store::Statement find_dead_;
  store::Statement count_dead_;
  store::Statement unbury_;
  store::Statement find_body_;
};

}  // namespace damper::webhooks
