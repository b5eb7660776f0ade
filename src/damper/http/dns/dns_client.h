#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "damper/base/instant.h"
#include "damper/http/dns/dns_message.h"
#include "damper/http/dns/dns_server.h"
#include "damper/http/net/dialer.h"
#include "damper/http/net/loop.h"

namespace damper::http {

// Totals of a DnsClient. Any thread may read them.
struct DnsCounts {
  std::array<std::atomic<std::uint64_t>, kDnsResultNames.size()> queries{};  // by DnsResult
  std::atomic<std::uint64_t> ignored{0};  // datagrams that answer no query
};

struct DnsClientOptions {
  std::vector<DnsServer> servers{DnsServer{}};  // one or more
  Duration timeout = std::chrono::seconds(5);   // of a query to one server
  unsigned attempts = 2;                        // rounds through the servers
};

// A DnsClient asks DNS servers questions, over UDP and, if an answer is truncated, over TCP.
//
// Why: the system's resolver tells no TTL and knows no SRV records.
// Model: equal questions that wait at the same time are one. The servers are queried one after the
// other, from the one that answered last on: the next one if a server does not answer in `timeout`,
// fails, or sends what cannot be read. Each query to a server has a socket of its own, connected,
// and so a random port, and a random id: a datagram from elsewhere, with another id or another
// question is ignored. After kMostIgnored such datagrams the query has failed: they are guesses.
// Invariants:
//   (1) At most kMostInFlight questions are under way; further ones wait in order.
//   (2) A question costs at most servers * attempts queries over UDP, and as many over TCP.
//   (3) `done` is called once, never from within query(), and not after the client was destroyed.
// Thread safety: none; all on the loop's thread. DnsCounts: any thread.
class DnsClient {
 public:
  using Done = std::function<void(const DnsAnswer& answer)>;
  static constexpr std::size_t kMostInFlight = 64;
  static constexpr std::size_t kMostIgnored = 64;

  // The counts outlive the client.
  DnsClient(Loop& loop, DnsCounts& counts);
  DnsClient(const DnsClient&) = delete;
  DnsClient& operator=(const DnsClient&) = delete;
  ~DnsClient();

  // For questions from now on. REQUIRES: there is a server.
  void use(const DnsClientOptions& options);
  // REQUIRES: is_dns_name(question.name).
  void query(const DnsQuestion& question, Done done);

 private:
  class Exchange;
  struct Pending {
    std::vector<Done> waiting;
    std::shared_ptr<Exchange> exchange;  // nullptr: it waits for its turn
  };

  void start_next();
  void finish(const DnsQuestion& question, const DnsAnswer& answer);

  Loop& loop_;
  DnsCounts& counts_;
  Dialer dialer_;
  DnsClientOptions options_;
  std::size_t first_ = 0;  // the server that answered last
  std::map<DnsQuestion, Pending> pending_;
  std::deque<DnsQuestion> line_;  // of those without an exchange
  std::size_t in_flight_ = 0;
};

}  // namespace damper::http
