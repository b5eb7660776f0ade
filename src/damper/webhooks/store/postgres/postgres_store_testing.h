#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "damper/store/postgres/cluster_testing.h"
#include "damper/webhooks/store/postgres/postgres_store.h"
#include "damper/webhooks/store/store_contract_testing.h"

namespace damper::webhooks {

// A name that no other test of this program has.
inline std::string new_schema() {
  static std::atomic<int> next = 0;
  return "test_" + std::to_string(++next);
}

inline PostgresStoreOptions postgres_options(const std::string& schema) {
  PostgresStoreOptions options;
  options.url = store::PostgresCluster::get().url();
  options.schema = schema;
  return options;
}

inline std::unique_ptr<Store> open_postgres(PostgresStoreOptions options) {
  auto opened = PostgresStore::open(std::move(options));
  if (!opened) ADD_FAILURE() << opened.error();
  return opened ? *std::move(opened) : nullptr;
}

}  // namespace damper::webhooks
