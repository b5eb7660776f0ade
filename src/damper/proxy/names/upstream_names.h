#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "damper/base/enum_names.h"
#include "damper/base/instant.h"
#include "damper/engine/event.h"
#include "damper/http/dns/dns_client.h"
#include "damper/http/dns/dns_resolver.h"
#include "damper/http/net/dialer.h"
#include "damper/observe/exposition.h"
#include "damper/proxy/data/proxy_state.h"
#include "damper/proxy/data/replica_endpoints.h"
#include "damper/proxy/names/name_rule.h"

namespace damper::proxy {

// How the lookup of a name ended.
enum class NameResult : std::uint8_t {
  changed,    // It has other addresses than before.
  unchanged,  // It has the same.
  not_found,  // There is no such name, or it has no addresses.
  failed,     // The DNS servers failed, or the system's resolver found nothing.
};
inline constexpr EnumNames<NameResult::failed> kNameResultNames = {"changed", "unchanged",
                                                                   "not_found", "failed"};

// UpstreamNames resolves the DNS names of clusters' endpoints again and again, for all loops.
//
// Why: 64 loops that resolve on their own would send 64 queries and get different answers.
// Model: a thread with a loop of its own. A name is resolved when it is first watched, and then by
// its NameRule: by the system's resolver, its interval after each answer; or by a DnsResolver, see
// next_lookup(). When the set of a name's addresses has changed, `changed` is called; loops then
// read current(). A lookup that finds nothing, or that there is no such name, changes nothing: the
// previous addresses are better than none (docs/design/0054). The first of such lookups in a row
// emits name_failed, the next good one name_restored, and each change name_changed.
// Invariants:
//   (1) One lookup of a name at a time.
//   (2) `changed` is not called after the destructor has returned.
// Thread safety: all methods may be called concurrently, except watch() with itself. `changed` is
// called on its own thread.
class UpstreamNames {
 public:
  // Of the names that are not looked up by a DnsResolver. nullptr: the system's. It is used on the
  // names' own thread alone, and outlives this, as does `events`, which may be nullptr.
  UpstreamNames(http::Resolver* resolver, engine::EventSink* events, std::function<void()> changed);
  UpstreamNames(const UpstreamNames&) = delete;
  UpstreamNames& operator=(const UpstreamNames&) = delete;
  ~UpstreamNames();

  // Watches these names from now on, and no others. Returns when all of them have been resolved
  // once, or when `timeout` is over: their addresses follow later then. `servers`: DnsServers for
  // all names; empty: the system's, for the names whose rule needs_dns.
  void watch(const NameRules& names, Duration timeout,
             const std::vector<std::string>& servers = {});
  [[nodiscard]] std::shared_ptr<const Addresses> current() const;

  // Of each watched name.
  [[nodiscard]] std::vector<NameState> describe(Instant now) const;
  //   damper_dns_queries_total{result}, damper_dns_ignored_answers_total
  //   damper_dns_lookups_total{result}, damper_dns_name_age_seconds{name}
  //   damper_dns_name_addresses{name}
  void write_metrics(Instant now, observe::Exposition& out) const;

 private:
  class Lookups;
  struct Status {
    bool answered = false;       // a lookup has ended
    Instant since{};             // of the last good answer, or when it was first watched
    std::uint32_t failures = 0;  // lookups without a good answer, in a row
    std::string reason{};        // of the last one
  };

  void publish(const std::string& name, std::vector<std::string> addresses, NameResult failure,
               std::string_view reason);
  void emit(engine::EventName kind, const std::string& detail, Duration length = Duration{0});

  engine::EventSink* const events_;
  const std::function<void()> changed_;
  http::DnsCounts counts_;
  std::array<std::atomic<std::uint64_t>, kNameResultNames.size()> lookups_total_{};
  mutable std::mutex mutex_;  // for the next three
  std::condition_variable answered_;
  std::map<std::string, Status> status_;  // of the watched names
  std::shared_ptr<const Addresses> current_;
  std::unique_ptr<Lookups> lookups_;
  std::thread thread_;
};

}  // namespace damper::proxy
