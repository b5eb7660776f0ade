#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "damper/http/tls/openssl_types.h"

namespace damper::http {

// A SessionCache keeps the TLS sessions that a client can resume, by peer.
//
// Why: a resumed handshake has no certificates and no signatures. Why not OpenSSL's own cache: it
// is for servers.
// Model: put() after the server has sent a ticket, take() before the next handshake with the same
// peer. Each session is used once, as RFC 8446, appendix C.4, asks. A session was verified with
// the settings that own the cache: other CAs, another certificate of ours, have a cache of their
// own.
// Invariants:
//   (1) At most kMostPeers peers, the one least recently added to goes first; at most kEach
//       sessions of each, the oldest goes first.
//   (2) A session is given out once, and to the peer that it was made with.
// Thread safety: all methods may be called concurrently; a mutex, taken once for a handshake.
class SessionCache {
 public:
  static constexpr std::size_t kMostPeers = 256;
  static constexpr std::size_t kEach = 4;

  void put(const std::string& peer, SessionPointer session);
  [[nodiscard]] SessionPointer take(const std::string& peer);
  [[nodiscard]] std::size_t peers() const;

 private:
  struct Sessions {
    std::deque<SessionPointer> all;
    std::uint64_t used = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Sessions> peers_;
  std::uint64_t clock_ = 0;  // counts put()
};

}  // namespace damper::http
