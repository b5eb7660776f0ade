#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "damper/webhooks/model/endpoint.h"
#include "damper/webhooks/model/id.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

// The Directory is the applications and endpoints of a process, in memory: what a message's
// endpoints are found in, and what an attempt reads its URL and keys from.
//
// Model: a copy of the store's configuration. A change is written to the store first, then here.
// Endpoints are indexed by the event types that they name: a message looks at those of its type,
// and at those with a pattern or without types, not at all of its application.
// Thread safety: none; all on the loop's thread.
class Directory {
 public:
  void load(Store::Everything everything);

  void put_application(std::string name) { applications_.try_emplace(std::move(name)); }
  void remove_application(std::string_view name);
  [[nodiscard]] bool has_application(std::string_view name) const {
    return applications_.contains(name);
  }
  [[nodiscard]] std::vector<std::string> applications() const;

  void put(Endpoint endpoint);
  // The store has written the endpoint that had this version: it has the next one now.
  void on_written(Id endpoint, std::int64_t version);
  void remove(Id endpoint);
  [[nodiscard]] const Endpoint* find(Id endpoint) const;
  // In order of their creation.
  [[nodiscard]] std::vector<const Endpoint*> endpoints_of(std::string_view application) const;
  // The endpoints that get such a message, in order of their creation. The payload is parsed if one
  // of them has a filter.
  [[nodiscard]] std::vector<Id> match(std::string_view application, std::string_view type,
                                      std::string_view channel,
                                      std::string_view payload = {}) const;
  [[nodiscard]] std::size_t size() const noexcept { return endpoints_.size(); }
  // Of the store's configuration, of which this is a copy: see NewMessage.
  void set_version(std::int64_t version) noexcept { version_ = std::max(version_, version); }
  [[nodiscard]] std::int64_t version() const noexcept { return version_; }

 private:
  struct Application {
    std::set<Id> endpoints;
    std::map<std::string, std::set<Id>, std::less<>> by_type;
    std::set<Id> of_patterns;  // also those of all types
  };
  void index(const Endpoint& endpoint);
  void remove_from_index(const Endpoint& endpoint);

  std::map<std::string, Application, std::less<>> applications_;
  std::unordered_map<Id, Endpoint> endpoints_;
  std::int64_t version_ = 0;
};

}  // namespace damper::webhooks
