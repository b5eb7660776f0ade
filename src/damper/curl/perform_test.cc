#include "damper/curl/perform.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "damper/base/check.h"
#include "damper/run/blocking.h"

namespace damper::curl {
namespace {

using namespace std::chrono_literals;

// A server on loopback that answers each connection with the next line of its script, and closes.
// An empty answer closes at once; "hang" waits until the client has gone.
class ScriptServer {
 public:
  explicit ScriptServer(
      std::vector<std::string> script, std::function<void()> on_hang = [] {})
      : script_(std::move(script)),
        on_hang_(std::move(on_hang)),
        listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = static_cast<sockaddr*>(static_cast<void*>(&address));
    DAMPER_CHECK(bind(listener_, generic, size) == 0 && listen(listener_, 8) == 0);
    DAMPER_CHECK(getsockname(listener_, generic, &size) == 0);
    url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
    thread_ = std::thread([this] { serve(); });
  }
  ScriptServer(const ScriptServer&) = delete;
  ScriptServer& operator=(const ScriptServer&) = delete;
  ~ScriptServer() { (void)requests(); }

  // What was asked; the server is over then.
  const std::vector<std::string>& requests() {
    if (thread_.joinable()) {
      (void)shutdown(listener_, SHUT_RDWR);
      thread_.join();
      close(listener_);
    }
    return requests_;
  }

  std::string url;

 private:
  void serve() {
    for (const std::string& answer : script_) {
      const int peer = accept(listener_, nullptr, nullptr);
      if (peer < 0) return;
      std::string head;
      char byte = 0;
      while (!head.ends_with("\r\n\r\n") && recv(peer, &byte, 1, 0) == 1) head += byte;
      requests_.push_back(head);
      if (answer == "hang") {
        on_hang_();
        while (recv(peer, &byte, 1, 0) > 0) {
        }
      } else {
        (void)send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
      close(peer);
    }
  }

  std::vector<std::string> script_;
  std::function<void()> on_hang_;
  std::vector<std::string> requests_;
  int listener_ = -1;
  std::thread thread_;
};

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
const std::string kBusy = "HTTP/1.1 503 No\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy";

size_t append(char* data, size_t size, size_t count, void* body) {
  static_cast<std::string*>(body)->append(data, size * count);
  return size * count;
}

struct Transfer {
  explicit Transfer(const std::string& url) : handle(curl_easy_init(), &curl_easy_cleanup) {
    curl_easy_setopt(handle.get(), CURLOPT_URL, url.c_str());
    curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, &append);
    curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &body);
    curl_easy_setopt(handle.get(), CURLOPT_NOPROXY, "*");
  }
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle;
  std::string body;
};

engine::Policy quick() {
  engine::Policy policy;
  policy.call.backoff = {.base = 1ms, .cap = 1ms};
  policy.budget.reserve = 100;
  return policy;
}

TEST(CurlPerform, AFailureIsRetriedAndTheBodyIsTheLastOnes) {
  ScriptServer server({kBusy, "", kOk});
  Dependency dependency("d", quick());
  Transfer transfer(server.url);
  const auto result =
      perform(dependency, {.method = "GET", .rewind = [&] { transfer.body.clear(); }},
              transfer.handle.get());
  ASSERT_TRUE(result) << name(result.verdict());
  EXPECT_EQ(*result, 200);
  EXPECT_EQ(result.attempts(), 3U);
  EXPECT_EQ(transfer.body, "ok");
}

TEST(CurlPerform, EachAttemptSaysWhoseItIsAndHowLongItHasAndKeepsTheUsersHeaders) {
  ScriptServer server({kBusy, kOk});
  Dependency dependency("d", quick());
  Transfer transfer(server.url);
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(
      curl_slist_append(curl_slist_append(nullptr, "X-Mine: 1"), "X-Request-Deadline: 999999"),
      &curl_slist_free_all);
  ASSERT_TRUE(
      perform(dependency,
              {.method = "GET", .deadline = in(5s), .owner = "checkout", .headers = headers.get()},
              transfer.handle.get()));
  const auto& requests = server.requests();
  ASSERT_EQ(requests.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NE(requests[i].find("X-Mine: 1\r\n"), std::string::npos);
    EXPECT_NE(requests[i].find("damper-retry-owner: checkout\r\n"), std::string::npos);
    EXPECT_NE(requests[i].find("damper-attempt: " + std::to_string(i + 1) + "\r\n"),
              std::string::npos);
    EXPECT_EQ(requests[i].find("999999"), std::string::npos);  // The time that is left stands.
    const std::size_t at = requests[i].find("x-request-deadline: ");
    ASSERT_NE(at, std::string::npos);
    EXPECT_LE(std::stoi(requests[i].substr(at + 20)), 5000);
  }
}

TEST(CurlPerform, InsideOfACallThatRetriesItSaysWhoDoes) {
  ScriptServer server({kBusy, kOk});
  Dependency outer("checkout", quick());
  Dependency inner("billing", quick());
  Transfer transfer(server.url);
  const auto result = call(outer, {.idempotent = true}, [&](const Attempt&) {
    const auto answer = perform(inner, {.method = "GET"}, transfer.handle.get());
    EXPECT_EQ(answer.attempts(), 1U);
    return answer ? decide::Outcome::success : answer.failure()->report.outcome;
  });
  ASSERT_TRUE(result);
  const auto& requests = server.requests();
  ASSERT_EQ(requests.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NE(requests[i].find("damper-retry-owner: checkout\r\n"), std::string::npos);
    EXPECT_NE(requests[i].find("damper-attempt: " + std::to_string(i + 1) + "\r\n"),
              std::string::npos);
  }
}

TEST(CurlPerform, SomebodyAboveWithoutANameIsToldOfAllTheSame) {
  ScriptServer server({kOk, kOk, kOk});
  Dependency dependency("d", quick());
  Transfer transfer(server.url);
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> edge(
      curl_slist_append(nullptr, "damper-retry-owner: edge"), &curl_slist_free_all);
  ASSERT_TRUE(perform(dependency, {.method = "GET", .owned_above = true}, transfer.handle.get()));
  ASSERT_TRUE(perform(dependency, {.method = "GET", .owned_above = true, .headers = edge.get()},
                      transfer.handle.get()));
  ASSERT_TRUE(perform(dependency, {.method = "POST"}, transfer.handle.get()));  // Nobody retries.
  const auto& requests = server.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_NE(requests[0].find("damper-retry-owner: damper\r\n"), std::string::npos);
  EXPECT_NE(requests[1].find("damper-retry-owner: edge\r\n"), std::string::npos);
  EXPECT_EQ(requests[1].find("damper-retry-owner: damper\r\n"), std::string::npos);
  EXPECT_EQ(requests[2].find("damper-retry-owner"), std::string::npos);
}

TEST(CurlPerform, APostThatWasDoneIsNotSentAgainWhenItsRedirectLeadsNowhere) {
  ScriptServer server(
      {"HTTP/1.1 303 See\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n"
       "Connection: close\r\n\r\n",
       kOk});
  Dependency dependency("d", quick());
  Transfer transfer(server.url);
  curl_easy_setopt(transfer.handle.get(), CURLOPT_POSTFIELDS, "x=1");
  curl_easy_setopt(transfer.handle.get(), CURLOPT_FOLLOWLOCATION, 1L);
  const auto result = perform(dependency, {.method = "POST"}, transfer.handle.get());
  EXPECT_EQ(result.verdict(), Verdict::not_idempotent);
  ASSERT_NE(result.failure(), nullptr);
  EXPECT_EQ(result.failure()->report.outcome, decide::Outcome::transient);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST(CurlPerform, WhatTheLastTransferSentIsNotTakenForThisOnes) {
  ScriptServer server({kOk});
  Dependency dependency("d", quick());
  Transfer transfer(server.url);
  ASSERT_TRUE(perform(dependency, {.method = "GET"}, transfer.handle.get()));
  curl_easy_setopt(transfer.handle.get(), CURLOPT_URL, "http://127.0.0.1:1/");
  const auto result = perform(dependency, {.method = "POST"}, transfer.handle.get());
  EXPECT_EQ(result.verdict(), Verdict::attempts_spent);
  EXPECT_EQ(result.failure()->report.outcome, decide::Outcome::unavailable);
}

TEST(CurlPerform, APostIsSentOnceUnlessItHasAKeyOrNeverLeft) {
  Dependency dependency("d", quick());
  {
    ScriptServer server({kBusy, kOk});
    Transfer transfer(server.url);
    curl_easy_setopt(transfer.handle.get(), CURLOPT_POSTFIELDS, "x=1");
    const auto result = perform(dependency, {.method = "POST"}, transfer.handle.get());
    EXPECT_EQ(result.verdict(), Verdict::not_idempotent);
    ASSERT_NE(result.failure(), nullptr);
    EXPECT_EQ(result.failure()->status, 503);
    EXPECT_EQ(server.requests().size(), 1U);
  }
  {
    ScriptServer server({kBusy, kOk});
    Transfer transfer(server.url);
    curl_easy_setopt(transfer.handle.get(), CURLOPT_POSTFIELDS, "x=1");
    const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> key(
        curl_slist_append(nullptr, "Idempotency-Key: k1"), &curl_slist_free_all);
    EXPECT_TRUE(
        perform(dependency, {.method = "POST", .headers = key.get()}, transfer.handle.get()));
  }
  Transfer nobody("http://127.0.0.1:1/");  // Nothing listens there: it never left.
  const auto result = perform(dependency, {.method = "POST"}, nobody.handle.get());
  EXPECT_EQ(result.verdict(), Verdict::attempts_spent);
  EXPECT_EQ(result.failure()->report.outcome, decide::Outcome::unavailable);
}

TEST(CurlPerform, AnAttemptEndsAtItsTimeout) {
  ScriptServer server({"hang"});
  Dependency dependency("d", quick());
  Transfer transfer(server.url);
  const Instant started = run::now();
  const auto result =
      perform(dependency, {.method = "POST", .deadline = in(50ms)}, transfer.handle.get());
  EXPECT_FALSE(result);
  EXPECT_GE(run::now(), started + 49ms);
  EXPECT_LT(run::now(), started + 2s);
  if (result.failure() != nullptr) {
    EXPECT_EQ(result.failure()->report.outcome, decide::Outcome::timeout);
  }
}

TEST(CurlPerform, RetryAfterIsTheServersWord) {
  ScriptServer server(
      {"HTTP/1.1 429 Slow\r\nRetry-After: 60\r\nContent-Length: 0\r\n"
       "Connection: close\r\n\r\n"});
  Dependency dependency("d", quick());
  Transfer transfer(server.url);
  const auto result =
      perform(dependency, {.method = "GET", .deadline = in(5s)}, transfer.handle.get());
  EXPECT_EQ(result.verdict(), Verdict::deadline_too_close);  // Not waited for, not come early.
  EXPECT_EQ(result.failure()->status, 429);
  EXPECT_EQ(result.failure()->report.retry_after, 60s);
}

TEST(CurlPerform, AKeyThatIsUnderWayIsAskedForAgainAndIsNoConflict) {
  ScriptServer server(
      {"HTTP/1.1 409 Conflict\r\ndamper-idempotency: under_way\r\nRetry-After: 0\r\n"
       "Content-Length: 0\r\nConnection: close\r\n\r\n",
       kOk});
  Dependency dependency("d", quick());
  Transfer transfer(server.url);
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> key(
      curl_slist_append(nullptr, "Idempotency-Key: k1"), &curl_slist_free_all);
  curl_easy_setopt(transfer.handle.get(), CURLOPT_POSTFIELDS, "x=1");
  EXPECT_TRUE(perform(dependency, {.method = "POST", .headers = key.get()}, transfer.handle.get()));
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST(CurlPerform, AStopEndsATransferThatHangs) {
  std::stop_source stop;
  ScriptServer server({"hang"}, [&] { stop.request_stop(); });
  Dependency dependency("d", quick());
  Transfer transfer(server.url);
  const auto result =
      perform(dependency, {.method = "GET", .stop = stop.get_token()}, transfer.handle.get());
  EXPECT_EQ(result.verdict(), Verdict::cancelled);
}

TEST(CurlPerform, TheHandleIsGivenBackAsItWas) {
  ScriptServer server({kOk, kOk});
  Dependency dependency("d", quick());
  Transfer transfer(server.url);
  ASSERT_TRUE(perform(dependency, {.method = "GET"}, transfer.handle.get()));
  ASSERT_EQ(curl_easy_perform(transfer.handle.get()), CURLE_OK);
  const auto& requests = server.requests();
  EXPECT_EQ(requests[1].find("x-request-deadline"), std::string::npos);
  EXPECT_EQ(requests[1].find("damper-"), std::string::npos);
}

}  // namespace
}  // namespace damper::curl
