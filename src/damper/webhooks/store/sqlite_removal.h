#pragma once

#include <cstdint>
#include <string_view>

#include "damper/store/sqlite.h"
#include "damper/webhooks/model/id.h"

namespace damper::webhooks {

// SqliteRemoval removes endpoints and applications: at once for their users, row by row in the
// file.
//
// Why: an endpoint may have a million deliveries. Deleting them in one transaction would stop the
// writes of all others for seconds.
// Model: the rows of the endpoint and the application are deleted, and their names noted in the
// same transaction. Deliveries without an endpoint are not claimed and not settled. purge() deletes
// some of what belongs to the noted ones, until nothing is left and the note is deleted.
// Errors, thread safety: as SqliteWrites.
class SqliteRemoval {
 public:
  explicit SqliteRemoval(store::Database& file);

  // False: there is none.
  [[nodiscard]] bool try_remove_endpoint(Id endpoint);
  [[nodiscard]] bool try_remove_application(std::string_view name);
  // Whether something of it is left in the file.
  [[nodiscard]] bool is_noted(Id endpoint);
  [[nodiscard]] bool is_noted(std::string_view application);
  // Deletes up to about `most` rows; the number of rows. 0: nothing is left.
  [[nodiscard]] std::int64_t purge(std::int64_t most);

 private:
  [[nodiscard]] std::int64_t purge_endpoints(std::int64_t most);
  [[nodiscard]] std::int64_t purge_applications(std::int64_t most);

  store::Database& file_;
  store::Statement find_endpoint_;
  store::Statement find_application_;
  store::Statement next_endpoint_;
  store::Statement next_application_;
  store::Statement purge_deliveries_;
  store::Statement purge_dead_;
  store::Statement purge_messages_;
  store::Statement forget_endpoint_;
  store::Statement forget_application_;
};

}  // namespace damper::webhooks
