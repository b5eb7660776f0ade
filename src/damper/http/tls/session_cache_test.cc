#include "damper/http/tls/session_cache.h"

#include <gtest/gtest.h>

namespace damper::http {
namespace {

// Invariant (2).
TEST(SessionCache, GivesEachSessionOnceAndToItsPeer) {
  SessionCache cache;
  SessionPointer session(SSL_SESSION_new());
  SSL_SESSION* const made = session.get();
  cache.put("a", std::move(session));
  EXPECT_EQ(cache.take("b"), nullptr);
  EXPECT_EQ(cache.take("a").get(), made);
  EXPECT_EQ(cache.take("a"), nullptr);
  EXPECT_EQ(cache.peers(), 0u);
}

// Invariant (1).
TEST(SessionCache, IsBounded) {
  SessionCache cache;
  for (std::size_t i = 0; i < SessionCache::kMostPeers + 1; ++i) {
    cache.put(std::to_string(i), SessionPointer(SSL_SESSION_new()));
  }
  EXPECT_EQ(cache.peers(), SessionCache::kMostPeers);
  EXPECT_EQ(cache.take("0"), nullptr);  // The oldest.
  EXPECT_NE(cache.take("1"), nullptr);
  for (std::size_t i = 0; i < SessionCache::kEach + 1; ++i) {
    cache.put("x", SessionPointer(SSL_SESSION_new()));
  }
  std::size_t taken = 0;
  while (cache.take("x") != nullptr) ++taken;
  EXPECT_EQ(taken, SessionCache::kEach);
}

}  // namespace
}  // namespace damper::http
