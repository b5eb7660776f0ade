#pragma once

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "damper/base/instant.h"
#include "damper/http/client/url.h"
#include "damper/http/net/dialer.h"
#include "damper/http/net/loop.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/data/upstream.h"

namespace damper::proxy {

// UpstreamNames resolves the DNS names of clusters' endpoints periodically, for all loops.
//
// Why: 64 loops that resolve on their own would send 64 queries and get different answers.
// Model: a thread with a loop of its own. A name is resolved when it is first watched, and again
// its interval after each answer. When the set of a name's addresses has changed, `changed` is
// called; loops then read current(). A lookup that finds nothing changes nothing: the previous
// addresses are better than none.
// Invariants:
//   (1) One lookup of a name at a time.
//   (2) `changed` is not called after the destructor has returned.
// Thread safety: all methods may be called concurrently, except watch() with itself. `changed` is
// called on its own thread.
class UpstreamNames {
 public:
  using Names = std::map<std::string, Duration>;  // with the interval of lookups

  // `resolver` is used on its own thread alone, and outlives this; nullptr: the system's.
  UpstreamNames(http::Resolver* resolver, std::function<void()> changed)
      : changed_(std::move(changed)),
        current_(std::make_shared<const Addresses>()),
        lookups_(std::make_unique<Lookups>(*this, resolver)),
        thread_([this] { lookups_->loop.run(); }) {}
  ~UpstreamNames() {
    lookups_->loop.stop();
    thread_.join();
  }

  // Watches these names from now on, and no others. Returns when all of them have been resolved
  // once, or when `timeout` is over: their addresses follow later then.
  void watch(const Names& names, Duration timeout) {
    std::unique_lock lock(mutex_);
    std::erase_if(first_, [&](const auto& entry) { return !names.contains(entry.first); });
    for (const auto& [name, every] : names) first_.try_emplace(name, false);
    auto kept = std::make_shared<Addresses>(*current_);
    std::erase_if(*kept, [&](const auto& entry) { return !names.contains(entry.first); });
    current_ = std::move(kept);
    lookups_->loop.post([this, names] { lookups_->watch(names); });
    answered_.wait_for(lock, timeout, [&] {
      return std::all_of(first_.begin(), first_.end(),
                         [](const auto& entry) { return entry.second; });
    });
  }
  [[nodiscard]] std::shared_ptr<const Addresses> current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

 private:
  // On the thread.
  class Lookups {
   public:
    Lookups(UpstreamNames& names, http::Resolver* resolver)
        : names_(names), resolver_(resolver), work_(loop) {
      if (resolver_ == nullptr) {
        own_ = http::make_system_resolver(loop);
        resolver_ = own_.get();
      }
    }

    void watch(const Names& wanted) {
      std::erase_if(watched_, [&](const auto& entry) { return !wanted.contains(entry.first); });
      for (const auto& [name, every] : wanted) {
        std::shared_ptr<Watched>& watched = watched_[name];
        if (watched != nullptr) {
          watched->every = every;
          continue;
        }
        watched = std::make_shared<Watched>(*this, name, every);
        look_up(watched);
      }
    }

    http::Loop loop;

   private:
    struct Watched final : http::Loop::Timer, std::enable_shared_from_this<Watched> {
      Watched(Lookups& owner, std::string of, Duration how_often)
          : http::Loop::Timer(owner.loop), lookups(owner), name(std::move(of)), every(how_often) {}
      void on_timer(Instant /*now*/) override { lookups.look_up(shared_from_this()); }

      Lookups& lookups;
      const std::string name;
      Duration every;
    };

    void look_up(const std::shared_ptr<Watched>& watched) {
      resolver_->resolve(watched->name,
                         [this, weak = std::weak_ptr(watched)](std::vector<std::string> addresses) {
                           const std::shared_ptr<Watched> alive = weak.lock();
                           if (alive == nullptr) return;
                           names_.publish(alive->name, std::move(addresses));
                           alive->arm(add(loop.now(), alive->every));
                         });
    }

    UpstreamNames& names_;
    http::Resolver* resolver_;
    std::map<std::string, std::shared_ptr<Watched>> watched_;
    std::unique_ptr<http::Resolver> own_;
    http::Loop::Work work_;
  };

  void publish(const std::string& name, std::vector<std::string> addresses) {
    std::sort(addresses.begin(), addresses.end());  // DNS servers rotate addresses.
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    bool has_changed = false;
    {
      const std::lock_guard lock(mutex_);
      const auto found = first_.find(name);
      if (found == first_.end()) return;
      found->second = true;
      const auto before = current_->find(name);
      has_changed =
          !addresses.empty() && (before == current_->end() || before->second != addresses);
      if (has_changed) {
        auto next = std::make_shared<Addresses>(*current_);
        (*next)[name] = std::move(addresses);
        current_ = std::move(next);
      }
    }
    answered_.notify_all();
    if (has_changed) changed_();
  }

  const std::function<void()> changed_;
  mutable std::mutex mutex_;
  std::condition_variable answered_;
  std::map<std::string, bool> first_;  // watched names, and whether one was resolved
  std::shared_ptr<const Addresses> current_;
  std::unique_ptr<Lookups> lookups_;
  std::thread thread_;
};

// The names of the config's endpoints, each with the shortest dns_refresh of its clusters.
[[nodiscard]] inline UpstreamNames::Names names_in(const ProxyConfig& config) {
  UpstreamNames::Names names;
  for (const ClusterConfig& cluster : config.clusters) {
    for (const std::string& text : cluster.endpoints) {
      const auto endpoint = http::parse_upstream(text);
      if (!endpoint || http::is_address(endpoint->host) || endpoint->is_unix()) continue;
      const auto [place, added] = names.try_emplace(endpoint->host, cluster.dns_refresh);
      if (!added) place->second = std::min(place->second, cluster.dns_refresh);
    }
  }
  return names;
}

}  // namespace damper::proxy
