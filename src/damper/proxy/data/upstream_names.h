#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "damper/base/instant.h"
#include "damper/http/net/dialer.h"
#include "damper/proxy/data/upstream.h"

namespace damper::proxy {

// UpstreamNames resolves the DNS names of clusters' endpoints periodically, for all loops.
//
// Why: 64 loops that resolve on their own would send 64 queries and get different answers.
// Model: a thread with a loop of its own. A name is resolved when it is first watched, and again
// its interval after each answer. When the set of a name's addresses has changed, `changed` is
// called; loops then read current(). A lookup that finds nothing changes nothing: the previous
// addresses are better than none. Invariants:
//   (1) One lookup of a name at a time.
//   (2) `changed` is not called after the destructor has returned.
// Thread safety: all methods may be called concurrently, except watch() with itself. `changed` is
// called on its own thread.
class UpstreamNames {
 public:
  using Names = std::map<std::string, Duration>;  // with the interval of lookups

  // `resolver` is used on its own thread alone, and outlives this; nullptr: the system's.
  UpstreamNames(http::Resolver* resolver, std::function<void()> changed);
  ~UpstreamNames();

  // Watches these names from now on, and no others. Returns when all of them have been resolved
  // once, or when `patience` is over: their addresses follow later then.
  void watch(const Names& names, Duration patience);
  [[nodiscard]] std::shared_ptr<const Addresses> current() const;

 private:
  class Lookups;  // on the thread

  void publish(const std::string& name, std::vector<std::string> addresses);

  const std::function<void()> changed_;
  mutable std::mutex mutex_;
  std::condition_variable answered_;
  std::map<std::string, bool> first_;  // watched names, and whether one was resolved
  std::shared_ptr<const Addresses> current_;
  std::unique_ptr<Lookups> lookups_;
  std::thread thread_;
};

}  // namespace damper::proxy
