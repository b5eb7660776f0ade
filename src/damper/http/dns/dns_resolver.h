#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "damper/base/instant.h"
#include "damper/http/dns/dns_client.h"
#include "damper/http/dns/dns_files.h"
#include "damper/http/dns/dns_message.h"
#include "damper/http/net/ip_address.h"
#include "damper/http/net/loop.h"

namespace damper::http {

struct DnsLookup {
  DnsResult result = DnsResult::timed_out;  // found; no_data, no_name; or why the servers failed
  // IP addresses; of a service with ports: "10.0.0.7:8080", "[fd00::7]:8080".
  std::vector<std::string> places{};
  // For how long that may be kept; 0 if a part is missing, or of unknown age.
  Duration ttl{0};
};

// A DnsResolver looks up the addresses of names, and where services listen, with their TTLs.
//
//   resolver.look_up_service("_http._tcp.api.example", [](const DnsLookup& found) { ... });
//
// Model: as the C library, it uses the hosts file first, for addresses, and then the servers and
// the search list of resolv.conf; both files are read again when they change. IPv4 and IPv6
// addresses are queried at the same time. A server that fails ends the lookup: a name further down
// the search list may be that of another service, and a target of the next priority is for failures
// of the service, not of DNS. Of a service, the records of the least priority
// are used of which one has an address; records of weight 0 are left out beside others. Other
// weights mean nothing here: the user's balancer distributes requests by load.
// If a part of a lookup fails (the IPv6 addresses, one target of a service), its last answer takes
// its place, for up to kMostRemembered questions.
// Invariants:
//   (1) A lookup whose result is not `found` has no places.
//   (2) It makes at most 2 questions for a candidate name; of a service, 1, and 2 for each of
//       the first kMostTargets targets.
// Thread safety: none; all on the loop's thread.
class DnsResolver {
 public:
  using Done = std::function<void(const DnsLookup& found)>;
  static constexpr std::size_t kMostTargets = 64;
  static constexpr std::size_t kMostRemembered = 4096;

  // The counts outlive the resolver.
  DnsResolver(Loop& loop, DnsCounts& counts, DnsFiles files = DnsFiles());
  DnsResolver(const DnsResolver&) = delete;
  DnsResolver& operator=(const DnsResolver&) = delete;
  ~DnsResolver();

  // The servers to query instead of resolv.conf's; empty: those.
  void use(std::vector<DnsServer> servers) { servers_ = std::move(servers); }

  // `done` is called once, possibly before the call returns, and not after the resolver was
  // destroyed. REQUIRES: is_dns_name(name).
  void look_up_addresses(const std::string& name, Done done);
  void look_up_service(const std::string& name, Done done);

 private:
  class AddressLookup;
  class ServiceLookup;
  struct Remembered {
    std::vector<IpAddress> addresses;
    std::uint64_t number = 0;  // the higher, the later
  };

  void refresh();
  void remember(const DnsQuestion& question, const DnsAnswer& answer);
  [[nodiscard]] std::vector<IpAddress> remembered(const DnsQuestion& question) const;

  std::vector<DnsServer> servers_;
  DnsFiles files_;
  std::map<DnsQuestion, Remembered> memory_;
  std::uint64_t remembered_ = 0;  // answers so far
  DnsClient client_;              // last: what waits for it refers to the members above
};

}  // namespace damper::http
