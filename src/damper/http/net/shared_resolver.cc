#include "damper/http/net/shared_resolver.h"

#include <map>
#include <utility>
#include <vector>

namespace damper::http {

struct SharedResolver::Table {
  struct Name {
    bool in_flight = false;
    std::vector<Done> waiting;
    std::vector<std::string> addresses;
    Instant until{};  // expiry of `addresses`
  };

  explicit Table(Loop& used_loop) : loop(used_loop) {}

  Loop& loop;
  std::map<std::string, Name> names;
  std::size_t lookups = 0;
};

SharedResolver::SharedResolver(Loop& loop, std::unique_ptr<Resolver> inner)
    : table_(std::make_shared<Table>(loop)), inner_(std::move(inner)) {}

SharedResolver::~SharedResolver() = default;

void SharedResolver::resolve(const std::string& host, Done done) {
  Table& table = *table_;
  const Instant now = table.loop.now();
  if (table.names.size() >= kMostKept && !table.names.contains(host)) {
    std::erase_if(table.names, [&](const auto& entry) {
      return !entry.second.in_flight && entry.second.until <= now;
    });
  }
  Table::Name& name = table.names[host];
  if (name.in_flight) {
    if (name.waiting.size() >= kMostWaiting) return done({});
    name.waiting.push_back(std::move(done));
    return;
  }
  if (now < name.until) return done(std::vector<std::string>(name.addresses));
  if (table.lookups >= kMostLookups) {
    table.names.erase(host);
    return done({});
  }
  ++table.lookups;
  name.in_flight = true;
  name.waiting.push_back(std::move(done));
  inner_->resolve(
      host, [weak = std::weak_ptr<Table>(table_), host](const std::vector<std::string>& addresses) {
        if (const std::shared_ptr<Table> alive = weak.lock()) {
          on_found(*alive, host, addresses);
        }
      });
}

void SharedResolver::on_found(Table& table, const std::string& host,
                              const std::vector<std::string>& addresses) {
  const auto found = table.names.find(host);
  --table.lookups;
  const std::vector<Done> waiting = std::exchange(found->second.waiting, {});
  if (table.names.size() > kMostKept) {
    table.names.erase(found);
  } else {
    found->second.in_flight = false;
    found->second.addresses = addresses;
    found->second.until = add(table.loop.now(), kKeep);
  }
  for (const Done& done : waiting) done(addresses);  // They may call resolve() again.
}

}  // namespace damper::http
