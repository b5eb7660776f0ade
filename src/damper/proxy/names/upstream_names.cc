#include "damper/proxy/names/upstream_names.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "damper/base/check.h"
#include "damper/http/dns/dns_server.h"
#include "damper/http/net/loop.h"
#include "damper/observe/process_event.h"
#include "damper/run/clock.h"

namespace damper::proxy {
namespace {

using observe::ProcessEvent;

// "10.0.0.1, 10.0.0.2 and 5 more".
std::string listed(const std::vector<std::string>& addresses) {
  constexpr std::size_t kShown = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(addresses.size(), kShown); ++i) {
    out += (i == 0 ? "" : ", ") + addresses[i];
  }
  if (addresses.size() > kShown) {
    out += " and " + std::to_string(addresses.size() - kShown) + " more";
  }
  return out;
}

std::string counted(std::size_t addresses) {
  return std::to_string(addresses) + (addresses == 1 ? " address" : " addresses");
}

// "api.example has 2 addresses; new: 10.0.0.3; gone: 10.0.0.1". Both are sorted.
std::string change_between(const std::string& name, const std::vector<std::string>& before,
                           const std::vector<std::string>& after) {
  std::vector<std::string> added;
  std::vector<std::string> gone;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(added));
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                      std::back_inserter(gone));
  std::string out = name + " has " + counted(after.size());
  if (!added.empty()) out += "; new: " + listed(added);
  if (!gone.empty()) out += "; gone: " + listed(gone);
  return out;
}

}  // namespace

// On the thread.
class UpstreamNames::Lookups {
 public:
  Lookups(UpstreamNames& names, http::Resolver* resolver)
      : names_(names), resolver_(resolver), dns_(loop, names.counts_), work_(loop) {
    if (resolver_ == nullptr) {
      own_ = http::make_system_resolver(loop);
      resolver_ = own_.get();
    }
  }

  void watch(const NameRules& wanted, const std::vector<http::DnsServer>& servers) {
    const bool same_servers = servers == servers_;
    servers_ = servers;
    dns_.use(servers);
    std::erase_if(watched_, [&](const auto& entry) { return !wanted.contains(entry.first); });
    for (const auto& [name, rule] : wanted) {
      std::shared_ptr<Watched>& watched = watched_[name];
      if (watched != nullptr && watched->rule == rule && same_servers) continue;
      if (watched == nullptr) watched = std::make_shared<Watched>(*this, name);
      watched->rule = rule;
      if (!watched->in_flight) look_up(watched);
    }
  }

  http::Loop loop;

 private:
  struct Watched final : http::Loop::Timer, std::enable_shared_from_this<Watched> {
    Watched(Lookups& owner, std::string of)
        : http::Loop::Timer(owner.loop), lookups(owner), name(std::move(of)) {}
    void on_timer(Instant /*now*/) override { lookups.look_up(shared_from_this()); }

    Lookups& lookups;
    const std::string name;
    NameRule rule;
    bool in_flight = false;
    std::uint32_t failures = 0;  // of DNS, in a row
  };

  void look_up(const std::shared_ptr<Watched>& watched) {
    watched->cancel();
    watched->in_flight = true;
    const std::weak_ptr weak(watched);
    if (!watched->rule.needs_dns && servers_.empty()) {
      return resolver_->resolve(watched->name, [this, weak](std::vector<std::string> addresses) {
        if (const auto alive = weak.lock()) on_system(*alive, std::move(addresses));
      });
    }
    const auto done = [this, weak](const http::DnsLookup& found) {
      if (const auto alive = weak.lock()) on_dns(*alive, found);
    };
    if (const auto service = watched->name.find(':'); service != std::string::npos) {
      dns_.look_up_service(watched->name.substr(service + 1), done);
    } else {
      dns_.look_up_addresses(watched->name, done);
    }
  }

  void on_system(Watched& watched, std::vector<std::string> addresses) {
    watched.in_flight = false;
    names_.publish(watched.name, std::move(addresses), NameResult::failed, "not resolved");
    // A name that our own client has looked up since then follows its TTL.
    watched.arm(add(loop.now(), std::min(watched.rule.every, watched.rule.shortest)));
  }

  void on_dns(Watched& watched, const http::DnsLookup& found) {
    watched.in_flight = false;
    const bool is_definite = http::is_definite(found.result);
    watched.failures = is_definite ? 0 : watched.failures + 1;
    names_.publish(watched.name, found.places,
                   is_definite ? NameResult::not_found : NameResult::failed,
                   http::kDnsResultNames[found.result]);
    watched.arm(add(loop.now(), next_lookup(watched.rule, found, watched.failures, run::draw())));
  }

  UpstreamNames& names_;
  http::Resolver* resolver_;
  std::vector<http::DnsServer> servers_;
  std::map<std::string, std::shared_ptr<Watched>> watched_;
  std::unique_ptr<http::Resolver> own_;
  http::DnsResolver dns_;
  http::Loop::Work work_;
};

UpstreamNames::UpstreamNames(http::Resolver* resolver, engine::EventSink* events,
                             std::function<void()> changed)
    : events_(events),
      changed_(std::move(changed)),
      current_(std::make_shared<const Addresses>()),
      lookups_(std::make_unique<Lookups>(*this, resolver)),
      thread_([this] { lookups_->loop.run(); }) {}

UpstreamNames::~UpstreamNames() {
  lookups_->loop.stop();
  thread_.join();
}

void UpstreamNames::watch(const NameRules& names, Duration timeout,
                          const std::vector<std::string>& servers) {
  std::vector<http::DnsServer> read;
  for (const std::string& text : servers) {
    auto server = http::parse_dns_server(text);
    DAMPER_CHECK(bool(server));
    read.push_back(*server);
  }
  std::unique_lock lock(mutex_);
  const Instant now = run::now();
  std::erase_if(status_, [&](const auto& entry) { return !names.contains(entry.first); });
  for (const auto& [name, rule] : names) status_.try_emplace(name, Status{.since = now});
  auto kept = std::make_shared<Addresses>(*current_);
  std::erase_if(*kept, [&](const auto& entry) { return !names.contains(entry.first); });
  current_ = std::move(kept);
  lookups_->loop.post([this, names, read = std::move(read)] { lookups_->watch(names, read); });
  answered_.wait_for(lock, timeout, [&] {
    return std::all_of(status_.begin(), status_.end(),
                       [](const auto& entry) { return entry.second.answered; });
  });
}

std::shared_ptr<const Addresses> UpstreamNames::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

// `failure` and `reason`: what it means if there are no addresses.
void UpstreamNames::publish(const std::string& name, std::vector<std::string> addresses,
                            NameResult failure, std::string_view reason) {
  std::sort(addresses.begin(), addresses.end());  // DNS servers rotate addresses.
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  const Instant now = run::now();
  NameResult result = failure;
  std::vector<std::string> before;
  Status last;
  {
    const std::lock_guard lock(mutex_);
    const auto found = status_.find(name);
    if (found == status_.end()) return;
    last = found->second;
    if (const auto known = current_->find(name); known != current_->end()) before = known->second;
    found->second.answered = true;
    if (addresses.empty()) {
      ++found->second.failures;
      found->second.reason = reason;
    } else {
      found->second = {.answered = true, .since = now};
      result = addresses == before ? NameResult::unchanged : NameResult::changed;
    }
    if (result == NameResult::changed) {
      auto next = std::make_shared<Addresses>(*current_);
      (*next)[name] = addresses;
      current_ = std::move(next);
    }
  }
  lookups_total_[static_cast<std::size_t>(result)].fetch_add(1, std::memory_order_relaxed);
  answered_.notify_all();
  if (addresses.empty()) {
    if (last.failures > 0) return;
    return emit(
        ProcessEvent::name_failed,
        name + ": " + std::string(reason) + "; " +
            (before.empty() ? "it has no addresses" : "it keeps its " + counted(before.size())));
  }
  if (last.failures > 0) {
    emit(ProcessEvent::name_restored, name + " has " + counted(addresses.size()),
         between(last.since, now));
  }
  if (result != NameResult::changed) return;
  if (!before.empty()) emit(ProcessEvent::name_changed, change_between(name, before, addresses));
  changed_();
}

void UpstreamNames::emit(engine::EventName kind, const std::string& detail, Duration length) {
  if (events_ == nullptr) return;
  events_->on_event(
      {.kind = kind, .key = "proxy", .at = run::now(), .length = length, .detail = detail});
}

std::vector<NameState> UpstreamNames::describe(Instant now) const {
  std::vector<NameState> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, status] : status_) {
    NameState& one = all.emplace_back();
    one.name = name;
    one.age = between(status.since, now);
    one.failures = status.failures;
    one.reason = status.reason;
    if (const auto found = current_->find(name); found != current_->end()) {
      one.count = found->second.size();
      one.addresses = listed(found->second);
    }
  }
  return all;
}

void UpstreamNames::write_metrics(Instant now, observe::Exposition& out) const {
  const std::vector<NameState> names = describe(now);
  if (names.empty()) return;
  for (std::size_t i = 0; i < http::kDnsResultNames.size(); ++i) {
    out.counter("damper_dns_queries_total", "Queries to DNS servers, by result.",
                {{"result", std::string(http::kDnsResultNames[i])}},
                counts_.queries[i].load(std::memory_order_relaxed));
  }
  out.counter("damper_dns_ignored_answers_total",
              "Datagrams of DNS that were no answer to their query.", {},
              counts_.ignored.load(std::memory_order_relaxed));
  for (std::size_t i = 0; i < kNameResultNames.size(); ++i) {
    out.counter("damper_dns_lookups_total", "Lookups of names of clusters, by result.",
                {{"result", std::string(kNameResultNames[i])}},
                lookups_total_[i].load(std::memory_order_relaxed));
  }
  for (const NameState& one : names) {
    out.gauge("damper_dns_name_age_seconds",
              "Time since the name was last resolved, or since it is used if it never was.",
              {{"name", one.name}}, std::chrono::duration<double>(one.age).count());
    out.gauge("damper_dns_name_addresses", "Addresses of the name that are in use.",
              {{"name", one.name}}, static_cast<double>(one.count));
  }
}

}  // namespace damper::proxy
