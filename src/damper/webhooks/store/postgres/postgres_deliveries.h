#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/store/postgres/postgres.h"
#include "damper/webhooks/store/postgres/postgres_session.h"
#include "damper/webhooks/store/store.h"
#include "damper/webhooks/store/store_thread.h"

namespace damper::webhooks {

// An accept() or settle() that waits for the writer.
class AcceptOperation final : public StoreOperation {
 public:
  AcceptOperation(std::size_t size, NewMessage accepted, Store::Done<Accepted> on_done)
      : StoreOperation(size), message(std::move(accepted)), done(std::move(on_done)) {}
  void run() override {}
  void finish(const StoreError* error) override;

  NewMessage message;
  Store::Done<Accepted> done;
  Expected<Accepted, StoreError> result = Accepted{};
};

class SettleOperation final : public StoreOperation {
 public:
  SettleOperation(std::size_t size, Settlement settled, Store::Done<bool> on_done)
      : StoreOperation(size), settlement(std::move(settled)), done(std::move(on_done)) {}
  void run() override {}
  void finish(const StoreError* error) override;

  Settlement settlement;
  Store::Done<bool> done;
  bool result = false;
};

// The ordering keys that a transaction changes: of each, the delivery with the lowest message id
// has behind = false, and the others true.
//
// Why a lock: two dispatchers that insert the first two messages of a key at once would both find
// that theirs is the first. The locks are the database's, by a hash of endpoint and key, taken in
// one order before anything of the keys is read.
class KeyOrder {
 public:
  void add(Id endpoint, std::string_view key);
  [[nodiscard]] bool is_empty() const noexcept { return keys_.empty(); }
  // Before the changes, and after them.
  [[nodiscard]] store::PgCall lock(const std::string& schema) const;
  [[nodiscard]] std::vector<store::PgCall> repair() const;

 private:
  std::set<std::pair<std::int64_t, std::string>> keys_;
};

// A DeliveryBatch writes messages and settlements of many calls in one transaction, with one
// statement of each kind.
//
// Invariants:
//   (1) A message is inserted with all of its deliveries, or not at all.
//   (2) A settlement changes its delivery only if that has the settlement's claim.
//   (3) A message is inserted only if no other dispatcher has committed a change of the
//       configuration since the version that its endpoints were found in.
//   (4) Rows are locked in order of their keys, so that two dispatchers do not wait for each other.
// Thread safety: none; on the writer's thread.
class DeliveryBatch {
 public:
  // False: an operation of the batch is of the same message, key or delivery; it has to wait.
  [[nodiscard]] bool try_add(AcceptOperation& operation);
  [[nodiscard]] bool try_add(SettleOperation& operation);
  [[nodiscard]] bool is_empty() const noexcept { return accepts_.empty() && settles_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return accepts_.size() + settles_.size(); }

  // Writes all of them, and sets their results. The error is of the transaction: nothing was
  // written.
  [[nodiscard]] store::PgExpected<bool> write(PostgresSession& session, const DatabaseClock& clock);
  // The endpoints with new deliveries.
  [[nodiscard]] std::vector<Id> endpoints() const;
  [[nodiscard]] std::vector<StoreOperation*> operations() const;
  // Batches of one operation each.
  [[nodiscard]] std::vector<DeliveryBatch> split() const;

 private:
  void add_accepts(std::vector<store::PgCall>& calls, const PostgresSession& session,
                   const DatabaseClock& clock);
  void add_settles(std::vector<store::PgCall>& calls, const DatabaseClock& clock);

  std::vector<AcceptOperation*> accepts_;
  std::vector<SettleOperation*> settles_;
  std::set<Id> messages_;
  std::set<std::pair<std::string_view, std::string_view>> keys_;  // application, idempotency key
  std::set<std::pair<Id, Id>> deliveries_;                        // message, endpoint
};

}  // namespace damper::webhooks
