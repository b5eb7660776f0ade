#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/store/sqlite.h"
#include "damper/webhooks/store/sqlite_deliveries.h"
#include "damper/webhooks/store/sqlite_removal.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

// SqliteWrites are the statements that change configuration and messages, one function for each
// write of the Store; those of deliveries are in sqlite_deliveries.h.
//
// Model: each function is a part of the caller's transaction. It checks first and writes then, so
// that a StoreError leaves the transaction as it was, and the others of the batch go on.
// Errors: DatabaseError is of the transaction, which the caller rolls back.
// Thread safety: none; on the writer's thread.
class SqliteWrites {
 public:
  template <class T>
  using Result = Expected<T, StoreError>;
  using Nothing = Store::Nothing;

  // The file has its tables.
  explicit SqliteWrites(store::Database& file);

  Result<Nothing> put_application(std::string_view name, UnixTime created);
  Result<Nothing> remove_application(std::string_view name);
  // `config` is what is stored: encoded and sealed.
  Result<Nothing> put_endpoint(const Endpoint& endpoint, std::string_view config);
  Result<Nothing> remove_endpoint(Id endpoint);
  Result<Nothing> put_state(const EndpointState& state);
  Result<Nothing> put_setting(std::string_view name, std::string_view text);

  Result<Accepted> accept(const NewMessage& message);
  Result<std::int64_t> prune(const Retention& retention);
  // Deletes some of what removed endpoints and applications have left; false: nothing is left.
  [[nodiscard]] bool purge();

  [[nodiscard]] SqliteDeliveries& deliveries() noexcept { return deliveries_; }

 private:
  // The message with this key; nothing if there is none.
  [[nodiscard]] std::optional<Result<Accepted>> find_repeated(const Message& message);
  [[nodiscard]] bool try_insert(const Message& message);
  [[nodiscard]] bool has_application(std::string_view name);
  [[nodiscard]] std::int64_t prune_messages(const Retention& retention);
  std::int64_t run_count(const store::Statement& statement, std::int64_t first);
  std::int64_t run_count(const store::Statement& statement, std::int64_t first,
                         std::int64_t second);

  store::Database& file_;
  SqliteDeliveries deliveries_;
  SqliteRemoval removal_;
  std::int64_t pruned_ = 0;  // the last message that prune_messages() has looked at

  store::Statement put_application_;
  store::Statement find_application_;
  store::Statement put_endpoint_;
  store::Statement find_endpoint_;
  store::Statement put_state_;
  store::Statement put_setting_;
  store::Statement remove_setting_;
  store::Statement find_key_;
  store::Statement insert_message_;
  store::Statement prune_dead_;
  store::Statement prune_attempts_;
  store::Statement old_messages_;
  store::Statement delete_message_;
};

}  // namespace damper::webhooks
