#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "damper/base/expected.h"
#include "damper/store/sqlite.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

// SqliteClaims are the reads of a dispatcher: the configuration, which endpoints have something
// due, and the deliveries of an endpoint.
//
// Why no write: the file has one owner, which knows what it has in flight and names it in `skip`.
// A claim that wrote a lease would cost a commit, and a crash would leave leases behind.
// Invariants:
//   (1) A claim reads at most `most` + skip.size() + 1 deliveries, and with by_key as many again;
//       how many wait makes no difference.
//   (2) find_due() reads at most three rows for each endpoint that has deliveries.
// Errors: DatabaseError. Thread safety: none; on its thread.
class SqliteClaims {
 public:
  using Unseal = std::function<Expected<std::string>(Id endpoint, std::string_view sealed)>;

  // The file has its tables.
  explicit SqliteClaims(store::Database& file, Unseal unseal);

  [[nodiscard]] Expected<Store::Everything, StoreError> load();
  [[nodiscard]] std::vector<EndpointDue> find_due();
  [[nodiscard]] Claimed claim(Id endpoint, UnixTime now, std::size_t most, ClaimFilter filter,
                              const std::vector<Id>& skip);
  // Reads at most `most` rows, by the index of messages.
  [[nodiscard]] OldDeliveries find_old(DeliveryPlace place, UnixTime before, std::size_t most);

 private:
  [[nodiscard]] Expected<Endpoint> read_endpoint(const store::Statement::Run& row) const;
  // Ordering keys of the endpoint's deliveries of these messages.
  [[nodiscard]] std::unordered_set<std::string> find_keys(Id endpoint,
                                                          const std::vector<Id>& messages);

  store::Database& file_;
  Unseal unseal_;
  store::Statement next_endpoint_;
  store::Statement first_behind_;
  store::Statement due_;
  store::Statement due_by_key_;
  store::Statement old_;
  store::Statement find_key_;
  store::Statement find_message_;
};

}  // namespace damper::webhooks
