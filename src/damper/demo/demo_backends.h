#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/base/instant.h"

namespace damper::demo {

inline constexpr std::size_t kDemoBackends = 3;

struct DemoBackendOptions {
  std::size_t workers = 4;                           // of each backend
  Duration service = std::chrono::milliseconds(20);  // in the mean; from half of it to half more
  std::size_t longest_queue = 5'000;                 // of each; one more is answered 503
};

// DemoBackends are three replicas of a service, as most services are: a few workers and a line
// before them that is served in order, whether or not the client still waits.
//
// Model: each is a real HTTP server; all three share a loop on a thread of their own. A request
// takes a worker for its service time. A backend that is down answers 503 at once, also those in
// line.
// Thread safety: all methods may be called by any thread.
class DemoBackends {
 public:
  // Listening on loopback; or a sentence on why not.
  [[nodiscard]] static Expected<std::unique_ptr<DemoBackends>> start(
      const DemoBackendOptions& options);
  DemoBackends(const DemoBackends&) = delete;
  DemoBackends& operator=(const DemoBackends&) = delete;
  ~DemoBackends();

  // "http://127.0.0.1:40001", of each.
  [[nodiscard]] const std::vector<std::string>& endpoints() const noexcept { return endpoints_; }

  void set_down(bool down) noexcept { down_.store(down); }
  // So many times slower than it should be, for work that begins from now on.
  void set_slowness(std::size_t backend, int times) noexcept { slowness_[backend].store(times); }

  // Requests that reached any of the three, and those of them that are a retry by their header.
  struct Arrivals {
    std::uint64_t all = 0;
    std::uint64_t retries = 0;
  };
  [[nodiscard]] Arrivals arrivals() const noexcept { return {arrivals_.load(), retries_.load()}; }

 private:
  class Backend;
  struct Running;  // the loop, its thread, its servers

  explicit DemoBackends(const DemoBackendOptions& options);

  const DemoBackendOptions options_;
  std::atomic<bool> down_{false};
  std::array<std::atomic<int>, kDemoBackends> slowness_{1, 1, 1};
  std::atomic<std::uint64_t> arrivals_{0};
  std::atomic<std::uint64_t> retries_{0};
  std::vector<std::string> endpoints_;
  std::unique_ptr<Running> running_;
};

}  // namespace damper::demo
