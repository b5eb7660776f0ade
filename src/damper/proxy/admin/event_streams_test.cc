#include "damper/proxy/admin/event_streams.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "damper/http/server/server_testing.h"
#include "damper/proxy/admin/admin_server_testing.h"

namespace damper::proxy {
namespace {

using http::RawClient;

std::string request(const std::string& fields = "", const std::string& target = "/events") {
  return "GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + fields + "\r\n";
}
std::string id_of(std::string_view text) {
  const std::size_t at = text.rfind("id: ") + 4;
  return std::string(text.substr(at, text.find('\n', at) - at));
}
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(EventStreams, ASubscriberGetsWhatWasKeptAndThenWhatComes) {
  AdminFixture admin;
  admin.report("before");
  RawClient client(admin.port());
  client.send(request());
  const std::string first = client.read_to("\"before\"}\n\n");
  EXPECT_TRUE(has(first, "content-type: text/event-stream\r\n")) << first;
  EXPECT_TRUE(has(first, "\nevent: breaker_opened\ndata: {\"time\":\"")) << first;
  admin.report("after", engine::EventKind::recovered);
  const std::string second = client.read_to("\"after\"}\n\n");
  EXPECT_TRUE(has(second, "\nevent: recovered\n")) << second;
  EXPECT_EQ(std::stoull(id_of(second)), std::stoull(id_of(first)) + 1);
}

TEST(EventStreams, WhoComesBackGetsTheRest) {
  AdminFixture admin;
  for (const char* key : {"a", "b", "c"}) admin.report(key);
  RawClient client(admin.port());
  const std::uint64_t first = admin.feed.first();
  client.send(request("Last-Event-ID: " + std::to_string(first) + "\r\n"));
  const std::string got = client.read_to("\"c\"}\n\n");
  EXPECT_FALSE(has(got, "\"a\"")) << got;
  EXPECT_TRUE(has(got, "\"b\"")) << got;
  EXPECT_FALSE(has(got, "missed")) << got;
}

TEST(EventStreams, WhoComesBackTooLateIsToldSo) {
  AdminFixture admin({}, 2);
  for (const char* key : {"a", "b", "c", "d"}) admin.report(key);
  const std::uint64_t first = admin.feed.first();
  for (const std::string& id : {std::to_string(first - 2), std::string("7")}) {
    RawClient client(admin.port());
    client.send(request("Last-Event-ID: " + id + "\r\n"));
    const std::string got = client.read_to("\"d\"}\n\n");
    EXPECT_TRUE(has(got, "event: missed\ndata: {\"after\":" + id +
                             ",\"next\":" + std::to_string(first) + "}\n\n"))
        << got;
  }
}

TEST(EventStreams, ANumberThatIsNoneOfOursCountsForNothing) {
  AdminFixture admin;
  admin.report("a");
  for (const char* id : {"x", "-1", "", "99999999999999999999999", "18446744073709551615", "1 2"}) {
    RawClient client(admin.port());
    client.send(request("Last-Event-ID: " + std::string(id) + "\r\n"));
    const std::string got = client.read_to("\"a\"}\n\n");
    EXPECT_TRUE(has(got, "\"a\"")) << id;
    EXPECT_FALSE(has(got, "missed")) << id;
  }
}

TEST(EventStreams, WithoutFollowingItEndsWhereItWouldWait) {
  AdminFixture admin;
  for (int i = 0; i < 100; ++i) admin.report("a" + std::to_string(i));
  RawClient client(admin.port());
  client.send(request("Connection: close\r\n", "/events?follow=false"));
  const std::string got = client.read_all();
  EXPECT_TRUE(has(got, "\"a0\"")) << got;
  EXPECT_TRUE(has(got, "\"a99\"")) << got;
  EXPECT_TRUE(has(got, ": that is all\n\n")) << got;
}

TEST(EventStreams, AHeartbeatKeepsTheConnection) {
  AdminFixture admin({.heartbeat = std::chrono::milliseconds(5)});
  RawClient client(admin.port());
  client.send(request());
  client.read_to(": heartbeat\n\n");
  EXPECT_TRUE(has(client.read_to(": heartbeat\n\n"), ": heartbeat\n\n"));
}

TEST(EventStreams, OneTooManyIsRefusedAndOneThatLeavesMakesRoom) {  // (1)
  AdminFixture admin({.heartbeat = std::chrono::milliseconds(5), .most_subscribers = 2});
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(std::make_unique<RawClient>(admin.port()));
    clients.back()->send(request());
    clients.back()->read_to("retry: 2000\n\n");
  }
  const auto refused = [&] {
    RawClient client(admin.port());
    client.send(request("Connection: close\r\n", "/events?follow=false"));
    return has(client.read_all(), "HTTP/1.1 503 ");
  };
  EXPECT_TRUE(refused());
  clients.pop_back();
  const Instant end = add(run::now(), std::chrono::seconds(2));
  while (refused() && run::now() < end) {
  }
  EXPECT_FALSE(refused());
  EXPECT_FALSE(has(admin.target.metrics.expose(), "damper_admin_refused_subscribers_total 0\n"));
}

TEST(EventStreams, ASubscriberThatDoesNotReadIsCut) {  // (2)
  AdminFixture admin({}, 10);
  RawClient slow(admin.port(), 1);
  slow.send(request());
  slow.read_to("retry: 2000\n\n");
  const auto cut = [&] {
    return has(admin.target.metrics.expose(), "damper_admin_cut_subscribers_total 1\n");
  };
  const std::string key(200, 'k');
  const Instant end = add(run::now(), std::chrono::seconds(60));
  while (!cut() && run::now() < end) {
    for (int i = 0; i < 1000; ++i) admin.report(key);
  }
  EXPECT_TRUE(cut());
  const std::string got = slow.read_all();  // It ends: what was on its way, and no more.
  EXPECT_FALSE(has(got, "\r\n0\r\n\r\n"));
  EXPECT_TRUE(has(admin.target.metrics.expose(), "damper_admin_event_subscribers 0\n"));
}

TEST(EventStreams, AStrangersNameFollowsNothing) {
  AdminFixture admin;
  RawClient client(admin.port());
  client.send("GET /events HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(has(client.read_all(), "HTTP/1.1 403 "));
  EXPECT_TRUE(
      has(admin.target.metrics.expose(), "damper_admin_refused_total{reason=\"host\"} 1\n"));
}

TEST(EventStreams, TheServersEndIsTheirEnd) {
  AdminFixture admin;
  RawClient client(admin.port());
  client.send(request());
  client.read_to("retry: 2000\n\n");
  admin.server.reset();
  admin.report("late");  // Nobody listens any more.
  EXPECT_FALSE(has(client.read_all(), "late"));
}

}  // namespace
}  // namespace damper::proxy
