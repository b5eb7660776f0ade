#include "damper/proxy/control/etcd_answer.h"

#include <gtest/gtest.h>

#include "damper/base/text/base64.h"

namespace damper::proxy {
namespace {

// As etcd 3.4 wrote them.
constexpr const char* kRange =
    R"({"header":{"cluster_id":"14841639068965178418","member_id":"10276657743932975437",)"
    R"("revision":"7","raft_term":"2"},"kvs":[{"key":"L2QvcG9saWN5","create_revision":"2",)"
    R"("mod_revision":"7","version":"3","value":"cm91dGU6IHt9"}],"count":"1"})";
constexpr const char* kCreated =
    R"({"result":{"header":{"cluster_id":"14841639068965178418","revision":"7"},"created":true}})";
constexpr const char* kEvents =
    R"({"result":{"header":{"revision":"9"},"events":[{"kv":{"key":"L2QvYQ==",)"
    R"("create_revision":"8","mod_revision":"8","version":"1","value":"MQ=="}},)"
    R"({"type":"DELETE","kv":{"key":"L2QvYg==","mod_revision":"9"}}]}})";

TEST(EtcdAnswer, ARangeHasKeysAndARevision) {
  const auto answer = parse_etcd_range(kRange);
  ASSERT_TRUE(answer) << answer.error();
  EXPECT_EQ(answer->revision, 7);
  ASSERT_EQ(answer->entries.size(), 1U);
  EXPECT_EQ(answer->entries[0], (EtcdEntry{"/d/policy", "route: {}", 7, false}));
  EXPECT_FALSE(answer->more);
  EXPECT_TRUE(parse_etcd_range(R"({"header":{"revision":"1"}})")->entries.empty());
}

TEST(EtcdAnswer, AWatchIsCreatedThenTellsOfEvents) {
  EXPECT_TRUE(parse_etcd_watch(kCreated)->created);
  const auto answer = parse_etcd_watch(kEvents);
  ASSERT_TRUE(answer) << answer.error();
  ASSERT_EQ(answer->entries.size(), 2U);
  EXPECT_EQ(answer->entries[0], (EtcdEntry{"/d/a", "1", 8, false}));
  EXPECT_EQ(answer->entries[1], (EtcdEntry{"/d/b", "", 9, true}));
  EXPECT_TRUE(
      parse_etcd_watch(
          R"({"result":{"header":{"revision":"9"},"canceled":true,"compact_revision":"5"}})")
          ->canceled);
}

TEST(EtcdAnswer, AnErrorIsEtcdsOwnSentence) {
  EXPECT_EQ(parse_etcd_range(R"({"error":"etcdserver: no leader","code":14})").error(),
            "etcd says: etcdserver: no leader");
  EXPECT_EQ(parse_etcd_watch(R"({"error":{"grpc_code":14,"message":"closing"}})").error(),
            "etcd says: closing");
}

TEST(EtcdAnswer, WhatIsNoAnswerIsRefused) {
  for (const char* text :
       {"", "x", "[]", "{}", R"({"header":{}, "kvs":[{}]})", R"({"header":{"revision":"x"}})",
        R"({"header":{"revision":"-1"}})", R"({"header":{"revision":"1"},"kvs":[{"key":"!"}]})",
        R"({"header":{"revision":"1"},"kvs":[{"key":"YQ==","value":"!"}]})",
        R"({"header":{"revision":"1"},"kvs":[{"key":"YQ==","mod_revision":{}}]})"}) {
    EXPECT_FALSE(parse_etcd_range(text)) << text;
    EXPECT_FALSE(parse_etcd_watch(text)) << text;
  }
  EXPECT_FALSE(parse_etcd_watch(R"({"result":{"header":{"revision":"9"},"events":[{}]}})"));
  EXPECT_FALSE(parse_etcd_range(std::string(kMostEtcdBytes + 1, ' ')));
}

TEST(EtcdAnswer, AsksForAllThatBeginsWithThePrefixAndASlash) {
  EXPECT_EQ(etcd_range("/d"), R"({"key":")" + text::to_base64("/d/") + R"(","range_end":")" +
                                  text::to_base64("/d0") + R"(","limit":"1000"})");
  EXPECT_EQ(etcd_watch("/d", 8), R"({"create_request":{"key":")" + text::to_base64("/d/") +
                                     R"(","range_end":")" + text::to_base64("/d0") +
                                     R"(","start_revision":"8"}})");
}

}  // namespace
}  // namespace damper::proxy
