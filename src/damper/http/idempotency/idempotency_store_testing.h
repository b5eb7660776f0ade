#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "damper/base/folder_testing.h"
#include "damper/base/random.h"
#include "damper/http/idempotency/idempotency_store.h"

namespace damper::http {

constexpr UnixTime wall(std::int64_t ms) { return UnixTime{std::chrono::milliseconds(ms)}; }

inline Fingerprint print(std::uint8_t which) {
  Fingerprint made{};
  made[31] = which;
  return made;
}

inline Response answer(int status, std::string body) {
  Response made;
  made.status = status;
  made.fields.add("content-type", "text/plain");
  made.trailers.add("grpc-status", "0");
  made.body = std::move(body);
  return made;
}

// What every store does: random claims, completions, releases and expiries against a plain model.
// The store keeps answers for 1 s and has room for all keys. Invariants (1) and (2).
inline void play_against_a_model(IdempotencyStore& store, std::uint64_t seed) {
  struct Entry {
    std::uint8_t print;
    std::uint64_t token;  // 0: answered
    std::int64_t expires;
    int answer;
  };
  Random random(seed);
  const auto upto = [&](int most) { return static_cast<int>(random.draw() * (most + 1)); };
  std::map<std::string, Entry> model;
  std::int64_t now = 1'000'000;
  for (int step = 0; step < 300; ++step) {
    now += upto(100);
    std::erase_if(model, [&](const auto& item) {
      return item.second.token == 0 && item.second.expires <= now;
    });
    const std::string key(1, static_cast<char>('a' + upto(4)));
    const auto found = model.find(key);
    const int action = upto(3);
    if (action <= 1) {
      const auto which = static_cast<std::uint8_t>(upto(3) == 0 ? 1 : 0);
      const auto claim = store.claim(key, print(which), wall(now));
      if (found == model.end()) {
        ASSERT_EQ(claim.state, KeyState::first) << "seed " << seed << " step " << step;
        model[key] = {which, claim.token, 0, 0};
      } else if (found->second.print != which) {
        ASSERT_EQ(claim.state, KeyState::mismatch) << "seed " << seed << " step " << step;
      } else if (found->second.token != 0) {
        ASSERT_EQ(claim.state, KeyState::under_way) << "seed " << seed << " step " << step;
      } else {
        ASSERT_EQ(claim.state, KeyState::replayed) << "seed " << seed << " step " << step;
        ASSERT_EQ(claim.answer->body, std::to_string(found->second.answer)) << "seed " << seed;
        ASSERT_EQ(claim.answer->fields.find("content-type"), "text/plain");
        ASSERT_EQ(claim.answer->trailers.find("grpc-status"), "0");
      }
    } else if (found != model.end() && found->second.token != 0) {
      Entry& entry = found->second;
      ASSERT_FALSE(store.complete(key, entry.token + 1, answer(200, "stranger"), wall(now)));
      if (action == 2) {
        ASSERT_TRUE(store.complete(key, entry.token, answer(201, std::to_string(step)), wall(now)));
        entry = {entry.print, 0, now + 1000, step};
      } else {
        store.release(key, entry.token);
        model.erase(found);
      }
    }
  }
}

}  // namespace damper::http
