#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "damper/base/instant.h"
#include "damper/http/net/dialer.h"
#include "damper/http/net/loop.h"

namespace damper::http {

// A SharedResolver joins concurrent lookups of the same name into one lookup of another resolver.
//
// Why: the system's resolver does one lookup after the other, on one thread. When it is slow, every
// dial would queue one more lookup of the same name, cancelled dials included, and the queue would
// last long after the resolver has recovered.
// Model: one lookup per name at a time; calls in the meantime get its result. A result, also that
// the name does not exist, is cached for kKeep.
// Invariants:
//   (1) At most kMostLookups are in flight, kMostWaiting calls wait for each, kMostKept results are
//       cached. Beyond these a name is not found, or its result not cached.
//   (2) No `done` is called after the SharedResolver was destroyed.
// Thread safety: none; all on the loop's thread.
class SharedResolver final : public Resolver {
 public:
  static constexpr Duration kKeep = std::chrono::seconds(1);
  static constexpr std::size_t kMostLookups = 64;
  static constexpr std::size_t kMostWaiting = 4096;
  static constexpr std::size_t kMostKept = 1024;

  SharedResolver(Loop& loop, std::unique_ptr<Resolver> inner)
      : table_(std::make_shared<Table>(loop)), inner_(std::move(inner)) {}
  void resolve(const std::string& host, Done done) override {
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
    inner_->resolve(host, [weak = std::weak_ptr<Table>(table_),
                           host](const std::vector<std::string>& addresses) {
      if (const std::shared_ptr<Table> alive = weak.lock()) {
        on_found(*alive, host, addresses);
      }
    });
  }

 private:
  struct Table {
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

  static void on_found(Table& table, const std::string& host,
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

  const std::shared_ptr<Table> table_;  // lookups in flight have a weak pointer to it
  const std::unique_ptr<Resolver> inner_;
};

}  // namespace damper::http
