#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "damper/base/instant.h"
#include "damper/http/dns/dns_resolver.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {

// A NameRule says how a name of clusters' endpoints is looked up, and when again.
//
// Model: a name that several clusters have is looked up as often as the strictest of them wants.
// A TTL counts from `shortest` to `longest`, so that a TTL of 0 is no storm of queries. Lookups by
// our own client are jittered by a tenth: earlier than the interval, later than a TTL, since a
// caching server has new records only then, but never outside of the bounds. After a failure the
// interval is that of the strictest bound, doubled with each further failure up to kLongestBackoff,
// and jittered.
struct NameRule {
  static constexpr Duration kLongestBackoff = std::chrono::seconds(30);

  Duration every = kForever;     // the interval; kForever: by the TTL
  Duration shortest = kForever;  // bounds of a TTL; kForever: TTLs mean nothing
  Duration longest = kForever;
  bool needs_dns = false;  // our own client; else the system's resolver does

  // Makes it satisfy the other one, too.
  void join(const NameRule& other);

  friend bool operator==(const NameRule&, const NameRule&) = default;
};

// The time from an answer of our own client to the next lookup. `failures`: in a row, this one
// included, if the servers failed. REQUIRES: the rule has an interval or bounds; 0 <= draw < 1.
[[nodiscard]] Duration next_lookup(const NameRule& rule, const http::DnsLookup& found,
                                   std::uint32_t failures, double draw);

using NameRules = std::map<std::string, NameRule>;

// The names of the config's endpoints, and the service_key() of each service.
[[nodiscard]] NameRules names_in(const ProxyConfig& config);

}  // namespace damper::proxy
