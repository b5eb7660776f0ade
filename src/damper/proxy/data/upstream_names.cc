#include "damper/proxy/data/upstream_names.h"

#include <algorithm>
#include <utility>

#include "damper/http/net/loop.h"

namespace damper::proxy {

class UpstreamNames::Lookups {
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

UpstreamNames::UpstreamNames(http::Resolver* resolver, std::function<void()> changed)
    : changed_(std::move(changed)),
      current_(std::make_shared<const Addresses>()),
      lookups_(std::make_unique<Lookups>(*this, resolver)),
      thread_([this] { lookups_->loop.run(); }) {}

UpstreamNames::~UpstreamNames() {
  lookups_->loop.stop();
  thread_.join();
}

std::shared_ptr<const Addresses> UpstreamNames::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

void UpstreamNames::watch(const Names& names, Duration patience) {
  std::unique_lock lock(mutex_);
  std::erase_if(first_, [&](const auto& entry) { return !names.contains(entry.first); });
  for (const auto& [name, every] : names) first_.try_emplace(name, false);
  auto kept = std::make_shared<Addresses>(*current_);
  std::erase_if(*kept, [&](const auto& entry) { return !names.contains(entry.first); });
  current_ = std::move(kept);
  lookups_->loop.post([this, names] { lookups_->watch(names); });
  answered_.wait_for(lock, patience, [&] {
    return std::all_of(first_.begin(), first_.end(),
                       [](const auto& entry) { return entry.second; });
  });
}

void UpstreamNames::publish(const std::string& name, std::vector<std::string> addresses) {
  std::sort(addresses.begin(), addresses.end());  // Who answers may turn them round each time.
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  bool has_changed = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = first_.find(name);
    if (found == first_.end()) return;
    found->second = true;
    const auto before = current_->find(name);
    has_changed = !addresses.empty() && (before == current_->end() || before->second != addresses);
    if (has_changed) {
      auto next = std::make_shared<Addresses>(*current_);
      (*next)[name] = std::move(addresses);
      current_ = std::move(next);
    }
  }
  answered_.notify_all();
  if (has_changed) changed_();
}

}  // namespace damper::proxy
