#include "damper/proxy/names/name_rule.h"

#include <algorithm>

#include "damper/http/client/url.h"
#include "damper/proxy/data/replica_endpoints.h"
#include "damper/schedule/backoff.h"

namespace damper::proxy {
namespace {

Duration tenth(Duration of, double draw) {
  return Duration(static_cast<std::int64_t>(static_cast<double>(of.count()) / 10 * draw));
}

}  // namespace

void NameRule::join(const NameRule& other) {
  every = std::min(every, other.every);
  shortest = std::min(shortest, other.shortest);
  longest = std::min(longest, other.longest);
  needs_dns = needs_dns || other.needs_dns;
}

Duration next_lookup(const NameRule& rule, const http::DnsLookup& found, std::uint32_t failures,
                     double draw) {
  if (!http::is_definite(found.result)) {
    schedule::BackoffOptions backoff{.jitter = schedule::Jitter::equal,
                                     .base = std::min(rule.every, rule.shortest)};
    backoff.cap = std::max(NameRule::kLongestBackoff, 2 * backoff.base);
    return schedule::Backoff().next(backoff, failures, draw);
  }
  Duration wait = rule.every == kForever ? kForever : rule.every - tenth(rule.every, draw);
  if (rule.longest == kForever) return wait;
  const Duration ttl = std::max(rule.shortest, std::min(found.ttl, rule.longest));
  const Duration later = ttl + tenth(ttl, draw);
  const Duration kept = later <= rule.longest ? later : ttl - tenth(ttl, draw);
  return std::min(wait, std::max(kept, rule.shortest));
}

NameRules names_in(const ProxyConfig& config) {
  NameRules names;
  for (const ClusterConfig& cluster : config.clusters) {
    const DnsConfig& dns = cluster.dns;
    NameRule rule{.every = dns.refresh, .needs_dns = dns.respect_ttl};
    if (dns.respect_ttl) {
      rule = {.every = kForever,
              .shortest = dns.min_refresh,
              .longest = dns.max_refresh,
              .needs_dns = true};
    }
    for (const std::string& text : cluster.endpoints) {
      if (http::ServiceName::is_service(text)) {
        NameRule of_service = rule;
        of_service.needs_dns = true;
        if (const auto service = http::parse_service_name(text)) {
          names[service_key(*service)].join(of_service);
        }
        continue;
      }
      const auto endpoint = http::parse_upstream(text);
      if (!endpoint || http::is_address(endpoint->host) || endpoint->is_unix()) continue;
      names[endpoint->host].join(rule);
    }
  }
  return names;
}

}  // namespace damper::proxy
