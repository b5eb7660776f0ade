#include "damper/http/tls/session_cache.h"

#include <algorithm>
#include <utility>

namespace damper::http {

void SessionCache::put(const std::string& peer, SessionPointer session) {
  const std::lock_guard lock(mutex_);
  Sessions& sessions = peers_[peer];
  sessions.used = ++clock_;
  sessions.all.push_back(std::move(session));
  if (sessions.all.size() > kEach) sessions.all.pop_front();
  if (peers_.size() <= kMostPeers) return;
  peers_.erase(std::min_element(peers_.begin(), peers_.end(), [](const auto& a, const auto& b) {
    return a.second.used < b.second.used;
  }));
}

SessionPointer SessionCache::take(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return nullptr;
  SessionPointer session = std::move(found->second.all.back());
  found->second.all.pop_back();
  if (found->second.all.empty()) peers_.erase(found);
  return session;
}

std::size_t SessionCache::peers() const {
  const std::lock_guard lock(mutex_);
  return peers_.size();
}

}  // namespace damper::http
