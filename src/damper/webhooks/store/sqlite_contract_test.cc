#include "damper/webhooks/store/sqlite_store.h"

#include "damper/webhooks/store/store_contract_age_testing.h"

namespace damper::webhooks {

std::unique_ptr<Store> open_contract_store(const TestFolder& folder) {
  auto store = SqliteStore::open({.path = folder.file("webhooks.db")});
  EXPECT_TRUE(store) << store.error();
  return *std::move(store);
}

}  // namespace damper::webhooks
