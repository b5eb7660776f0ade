#include "damper/http/idempotency/idempotency_store.h"

#include <gtest/gtest.h>

#include "damper/http/idempotency/idempotency_memory.h"
#include "damper/http/idempotency/idempotency_store_testing.h"

namespace damper::http {
namespace {

TEST(IdempotencyMetrics, EveryResultIsShownFromTheStart) {
  MemoryStore store;
  observe::Registry registry;
  const auto shown = show(store, "orders", registry);
  (void)store.claim("a", print(0), wall(0));
  (void)store.claim("a", print(0), wall(0));
  const std::string text = registry.expose();
  for (const std::string_view line :
       {"damper_idempotency_requests_total{result=\"first\",store=\"orders\"} 1\n",
        "damper_idempotency_requests_total{result=\"under_way\",store=\"orders\"} 1\n",
        "damper_idempotency_requests_total{result=\"mismatch\",store=\"orders\"} 0\n",
        "damper_idempotency_evictions_total{store=\"orders\"} 0\n",
        "damper_idempotency_unkept_total{store=\"orders\"} 0\n",
        "damper_idempotency_entries{store=\"orders\"} 1\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

}  // namespace
}  // namespace damper::http
