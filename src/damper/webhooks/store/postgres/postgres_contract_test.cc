#include "damper/webhooks/store/postgres/postgres_store_testing.h"

#include "damper/webhooks/store/store_contract_age_testing.h"

namespace damper::webhooks {

std::unique_ptr<Store> open_contract_store(const TestFolder& /*folder*/) {
  PostgresStoreOptions options = postgres_options(new_schema());
  options.simulated_time = true;
  return open_postgres(std::move(options));
}

}  // namespace damper::webhooks
