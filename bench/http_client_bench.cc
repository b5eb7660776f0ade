// The HTTP client against our server on loopback, keep-alive, one thread each: plain, guarded, and
// libcurl's multi interface as the peer, all against the same server in the same run. Ratios are
// what counts: see docs/benchmarks.md.
#include <benchmark/benchmark.h>
#include <curl/curl.h>
#include <sys/epoll.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "damper/http/client/client.h"
#include "damper/http/client/guarded_client.h"
#include "damper/http/server/handler_service.h"
#include "damper/http/server/server.h"
#include "damper/run/clock.h"

namespace damper::http {
namespace {

// A server in a thread of its own, for as long as the program lives.
class BenchServer {
 public:
  static BenchServer& get() {
    static BenchServer server;
    return server;
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  BenchServer()
      : service_(loop_, answer_with(
                            [](const Request&) { return Response{.body = std::string(64, 'x')}; })),
        server_(loop_, {}, service_) {
    if (const auto error = server_.listen()) std::abort();
    port_ = server_.port();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~BenchServer() {
    loop_.stop();
    thread_.join();
  }

  Loop loop_;
  HandlerService service_;
  Server server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

// Keeps `width` requests under way until `state` has had enough; `begin` begins one and calls back.
template <class Begin>
void keep_under_way(benchmark::State& state, Loop& loop, Begin begin) {
  const auto width = static_cast<int>(state.range(0));
  constexpr int kBatch = 2000;
  for (auto _ : state) {
    int left = kBatch;
    int under_way = 0;
    std::function<void()> more = [&] {
      while (under_way < width && left > 0) {
        ++under_way;
        --left;
        begin([&](bool good) {
          if (!good) state.SkipWithError("a request failed");
          --under_way;
          if (left > 0) {
            more();
          } else if (under_way == 0) {
            loop.stop();
          }
        });
      }
    };
    more();
    loop.run();
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}

void BM_HttpClientPlain(benchmark::State& state) {
  Loop loop;
  Client client(loop);
  const Request request = make_request("GET", *parse_url(BenchServer::get().url() + "/"));
  keep_under_way(state, loop, [&](auto done) {
    client.fetch(request, run::now() + std::chrono::seconds(5),
                 [done](const Result<Response>& answer) { done(answer && answer->status == 200); });
  });
}
BENCHMARK(BM_HttpClientPlain)->Arg(1)->Arg(64)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_HttpClientGuarded(benchmark::State& state) {
  Loop loop;
  Dependency dependency("bench");
  GuardedClient client(loop, dependency, {.endpoints = {BenchServer::get().url()}});
  keep_under_way(state, loop, [&](auto done) {
    client.get("/", run::now() + std::chrono::seconds(5),
               [done](const HttpResult& answer) { done(static_cast<bool>(answer)); });
  });
}
BENCHMARK(BM_HttpClientGuarded)->Arg(1)->Arg(64)->UseRealTime()->Unit(benchmark::kMillisecond);

std::size_t drop(char* /*bytes*/, std::size_t size, std::size_t count, void* /*user*/) {
  return size * count;
}

void BM_HttpClientLibcurlMulti(benchmark::State& state) {
  const std::string url = BenchServer::get().url() + "/";
  const auto width = static_cast<std::size_t>(state.range(0));
  constexpr int kBatch = 2000;
  CURLM* multi = curl_multi_init();
  std::vector<CURL*> handles;
  for (std::size_t i = 0; i < width; ++i) {
    CURL* handle = curl_easy_init();
    curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &drop);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, 5000L);
    handles.push_back(handle);
  }
  for (auto _ : state) {
    int left = kBatch;
    int under_way = 0;
    for (CURL* handle : handles) {
      if (left == 0) break;
      curl_multi_add_handle(multi, handle);
      --left;
      ++under_way;
    }
    while (under_way > 0) {
      int running = 0;
      curl_multi_perform(multi, &running);
      int queued = 0;
      while (CURLMsg* message = curl_multi_info_read(multi, &queued)) {
        if (message->msg != CURLMSG_DONE) continue;
        CURL* handle = message->easy_handle;
        if (message->data.result != CURLE_OK) state.SkipWithError("a request failed");
        curl_multi_remove_handle(multi, handle);
        --under_way;
        if (left > 0) {
          curl_multi_add_handle(multi, handle);
          --left;
          ++under_way;
        }
      }
      if (under_way > 0) curl_multi_poll(multi, nullptr, 0, 100, nullptr);
    }
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
  for (CURL* handle : handles) curl_easy_cleanup(handle);
  curl_multi_cleanup(multi);
}
BENCHMARK(BM_HttpClientLibcurlMulti)->Arg(1)->Arg(64)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace damper::http
