#include "damper/http/dns/dns_resolver.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "damper/base/check.h"
#include "damper/http/dns/dns_server.h"

namespace damper::http {
namespace {

constexpr std::array kFamilies = {DnsType::a, DnsType::aaaa};

// The records that name a place, each once, those of the least priority first: as many as have
// `most` targets.
std::vector<SrvRecord> usable(std::vector<SrvRecord> records, std::size_t most) {
  std::erase_if(records, [](const SrvRecord& one) {
    return one.port == 0 || !is_dns_name(one.target);  // The root as target: there is no service.
  });
  std::sort(records.begin(), records.end());
  records.erase(std::unique(records.begin(), records.end()), records.end());
  std::set<std::string_view> targets;
  records.erase(std::find_if(records.begin(), records.end(),
                             [&](const SrvRecord& one) {
                               targets.insert(one.target);
                               return targets.size() > most;
                             }),
                records.end());
  return records;
}

// Takes the records of the least priority out.
std::vector<SrvRecord> take_group(std::vector<SrvRecord>& records) {
  const auto end = std::find_if(records.begin(), records.end(), [&](const SrvRecord& one) {
    return one.priority != records.front().priority;
  });
  std::vector<SrvRecord> group(records.begin(), end);
  records.erase(records.begin(), end);
  const bool has_weight =
      std::any_of(group.begin(), group.end(), [](const SrvRecord& one) { return one.weight > 0; });
  if (has_weight) std::erase_if(group, [](const SrvRecord& one) { return one.weight == 0; });
  return group;
}

}  // namespace

// The addresses of a name, in both families. Owned by the questions that it waits for.
class DnsResolver::AddressLookup final : public std::enable_shared_from_this<AddressLookup> {
 public:
  struct Found {
    DnsResult result = DnsResult::no_name;
    std::vector<IpAddress> addresses{};  // also remembered ones, if the result is a failure
    Duration ttl{0};
    bool is_complete = true;
  };
  using Done = std::function<void(const Found& found)>;

  AddressLookup(DnsResolver& resolver, std::vector<std::string> candidates, Done done)
      : resolver_(resolver), candidates_(std::move(candidates)), done_(std::move(done)) {}

  void start() {
    for (const std::string& name : candidates_) {
      const std::vector<IpAddress> addresses = resolver_.files_.hosts().find(name);
      if (addresses.empty()) continue;
      return done_({.result = DnsResult::found, .addresses = addresses});
    }
    query();
  }

 private:
  void query() {
    waiting_ = kFamilies.size();
    for (std::size_t i = 0; i < kFamilies.size(); ++i) {
      resolver_.client_.query(question(i), [self = shared_from_this(), i](const DnsAnswer& answer) {
        self->answers_[i] = answer;
        if (--self->waiting_ == 0) self->on_answers();
      });
    }
  }
  [[nodiscard]] DnsQuestion question(std::size_t family) const {
    return {.name = candidates_[candidate_], .type = kFamilies[family]};
  }

  void on_answers() {
    Found found{.ttl = kForever};
    DnsResult failure = DnsResult::found;
    for (std::size_t i = 0; i < kFamilies.size(); ++i) {
      const DnsAnswer& answer = answers_[i];
      std::vector<IpAddress> addresses = answer.addresses;
      if (is_definite(answer.result)) {
        resolver_.remember(question(i), answer);
      } else {
        failure = answer.result;
        addresses = resolver_.remembered(question(i));
      }
      if (answer.result == DnsResult::found) found.result = DnsResult::found;
      if (answer.result == DnsResult::no_data) has_name_ = true;
      found.addresses.insert(found.addresses.end(), addresses.begin(), addresses.end());
    }
    found.is_complete = failure == DnsResult::found;
    // Of a family without addresses only if the other one has none either.
    for (const DnsAnswer& answer : answers_) {
      if (found.result != DnsResult::found || answer.result == DnsResult::found) {
        found.ttl = std::min(found.ttl, answer.ttl);
      }
    }
    if (!found.is_complete) found.ttl = Duration{0};
    if (found.result != DnsResult::found) {
      if (!found.is_complete) {
        found.result = failure;
      } else if (++candidate_ < candidates_.size()) {
        return query();
      } else if (has_name_) {
        found.result = DnsResult::no_data;
      }
    }
    done_(found);
  }

  DnsResolver& resolver_;
  const std::vector<std::string> candidates_;
  const Done done_;
  std::size_t candidate_ = 0;
  std::size_t waiting_ = 0;
  bool has_name_ = false;  // a candidate exists, without addresses
  std::array<DnsAnswer, kFamilies.size()> answers_;
};

// Where a service listens: its SRV records, and the addresses of their targets. Owned by the
// lookups that it waits for.
class DnsResolver::ServiceLookup final : public std::enable_shared_from_this<ServiceLookup> {
 public:
  ServiceLookup(DnsResolver& resolver, std::vector<std::string> candidates, Done done)
      : resolver_(resolver), candidates_(std::move(candidates)), done_(std::move(done)) {}

  void query() {
    resolver_.client_.query(
        {.name = candidates_[candidate_], .type = DnsType::srv},
        [self = shared_from_this()](const DnsAnswer& answer) { self->on_records(answer); });
  }

 private:
  void on_records(const DnsAnswer& answer) {
    if (answer.result == DnsResult::no_data || answer.result == DnsResult::no_name) {
      has_name_ = has_name_ || answer.result == DnsResult::no_data;
      if (++candidate_ < candidates_.size()) return query();
      return finish(
          {.result = has_name_ ? DnsResult::no_data : DnsResult::no_name, .ttl = answer.ttl});
    }
    if (answer.result != DnsResult::found) return finish({.result = answer.result});
    lookup_.ttl = answer.ttl;
    records_ = usable(answer.services, kMostTargets);
    look_up_group();
  }

  void look_up_group() {
    if (records_.empty()) return finish({.result = DnsResult::no_data, .ttl = lookup_.ttl});
    group_ = take_group(records_);
    targets_.clear();
    for (const SrvRecord& record : group_) targets_[record.target];
    waiting_ = targets_.size();
    std::vector<std::string> names;  // Lookups may end at once, and change targets_.
    names.reserve(targets_.size());
    for (const auto& [name, addresses] : targets_) names.push_back(name);
    for (const std::string& name : names) {
      std::make_shared<AddressLookup>(
          resolver_, std::vector<std::string>{name},
          [self = shared_from_this(), name](const AddressLookup::Found& found) {
            self->on_target(name, found);
          })
          ->start();
    }
  }

  void on_target(const std::string& name, const AddressLookup::Found& found) {
    targets_[name] = found.addresses;
    lookup_.ttl = std::min(lookup_.ttl, found.ttl);
    is_complete_ = is_complete_ && found.is_complete;
    if (!is_definite(found.result)) failure_ = found.result;
    if (--waiting_ > 0) return;
    std::set<std::string> places;
    for (const SrvRecord& record : group_) {
      for (const IpAddress& address : targets_[record.target]) {
        places.insert(DnsServer{.address = address, .port = record.port}.text());
      }
    }
    if (places.empty()) {
      if (failure_) return finish({.result = *failure_});
      return look_up_group();
    }
    lookup_.result = DnsResult::found;
    lookup_.places.assign(places.begin(), places.end());
    if (!is_complete_) lookup_.ttl = Duration{0};
    finish(lookup_);
  }

  void finish(const DnsLookup& lookup) { done_(lookup); }

  DnsResolver& resolver_;
  const std::vector<std::string> candidates_;
  const Done done_;
  std::size_t candidate_ = 0;
  bool has_name_ = false;
  std::vector<SrvRecord> records_;  // of higher priorities than the group
  std::vector<SrvRecord> group_;
  std::map<std::string, std::vector<IpAddress>> targets_;  // of the group
  std::size_t waiting_ = 0;
  bool is_complete_ = true;
  std::optional<DnsResult> failure_;  // of a target
  DnsLookup lookup_;
};

DnsResolver::DnsResolver(Loop& loop, DnsCounts& counts, DnsFiles files)
    : files_(std::move(files)), client_(loop, counts) {}

DnsResolver::~DnsResolver() = default;

void DnsResolver::refresh() {
  files_.refresh();
  const ResolvConf& conf = files_.conf();
  client_.use({.servers = servers_.empty() ? conf.servers : servers_,
               .timeout = conf.timeout,
               .attempts = conf.attempts});
}

void DnsResolver::look_up_addresses(const std::string& name, Done done) {
  DAMPER_CHECK(is_dns_name(name));
  refresh();
  std::make_shared<AddressLookup>(*this, files_.conf().candidates(name),
                                  [done = std::move(done)](const AddressLookup::Found& found) {
                                    DnsLookup lookup{.result = found.result, .ttl = found.ttl};
                                    if (found.result == DnsResult::found) {
                                      for (const IpAddress& one : found.addresses) {
                                        lookup.places.push_back(one.text());
                                      }
                                    }
                                    done(lookup);
                                  })
      ->start();
}

void DnsResolver::look_up_service(const std::string& name, Done done) {
  DAMPER_CHECK(is_dns_name(name));
  refresh();
  std::make_shared<ServiceLookup>(*this, files_.conf().candidates(name), std::move(done))->query();
}

void DnsResolver::remember(const DnsQuestion& question, const DnsAnswer& answer) {
  if (answer.result != DnsResult::found) {
    memory_.erase(question);
    return;
  }
  memory_[question] = {.addresses = answer.addresses, .number = ++remembered_};
  if (memory_.size() <= kMostRemembered) return;
  memory_.erase(std::min_element(memory_.begin(), memory_.end(), [](const auto& a, const auto& b) {
    return a.second.number < b.second.number;
  }));
}

std::vector<IpAddress> DnsResolver::remembered(const DnsQuestion& question) const {
  const auto found = memory_.find(question);
  return found == memory_.end() ? std::vector<IpAddress>{} : found->second.addresses;
}

}  // namespace damper::http
