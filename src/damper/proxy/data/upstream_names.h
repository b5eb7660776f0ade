#ifndef DAMPER_PROXY_DATA_UPSTREAM_NAMES_H_
#define DAMPER_PROXY_DATA_UPSTREAM_NAMES_H_

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

// UpstreamNames look up the names that clusters have for endpoints, again and again, for all loops
// at once.
//
// Why: were each loop to do it, a proxy with 64 of them would ask 64 times, and they would differ.
// Model: a thread with a loop of its own. A name is looked up when it is first watched, and again
// so long after each answer as was asked for. When the set of a name's addresses has changed,
// `changed` is called; loops take current() then. A lookup that finds nothing changes nothing: the
// addresses of last time are better than none.
// Invariants:
//   (1) One lookup of a name at a time.
//   (2) `changed` is not called after the destructor has returned.
// Thread safety: all methods may be called concurrently, but for watch() with itself. `changed` is
// called by the thread of its own.
class UpstreamNames {
 public:
  using Names = std::map<std::string, Duration>;  // and how often each is looked up

  // `resolver`: used by the thread of its own alone, and outlives this; nullptr: the system's.
  UpstreamNames(http::Resolver* resolver, std::function<void()> changed);
  UpstreamNames(const UpstreamNames&) = delete;
  UpstreamNames& operator=(const UpstreamNames&) = delete;
  ~UpstreamNames();

  // These from now on; those that are not among them are forgotten. Returns when all of them have
  // been looked up once, or patience is over: then their addresses come later.
  void watch(const Names& names, Duration patience);
  [[nodiscard]] std::shared_ptr<const Addresses> current() const;

 private:
  class Lookups;  // on the thread

  void publish(const std::string& name, std::vector<std::string> addresses);

  const std::function<void()> changed_;
  mutable std::mutex mutex_;
  std::condition_variable answered_;
  std::map<std::string, bool> first_;  // those that are watched: whether it was answered
  std::shared_ptr<const Addresses> current_;
  std::unique_ptr<Lookups> lookups_;
  std::thread thread_;
};

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_DATA_UPSTREAM_NAMES_H_
