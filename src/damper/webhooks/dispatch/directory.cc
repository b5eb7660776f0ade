#include "damper/webhooks/dispatch/directory.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace damper::webhooks {
namespace {

[[nodiscard]] bool names_types_only(const EndpointConfig& config) {
  return !config.types.empty() && std::ranges::none_of(config.types, [](const std::string& type) {
    return type.find('*') != std::string::npos;
  });
}

}  // namespace

void Directory::load(Store::Everything everything) {
  for (std::string& name : everything.applications) put_application(std::move(name));
  for (Endpoint& endpoint : everything.endpoints) put(std::move(endpoint));
  set_version(everything.configuration);
}

void Directory::remove_application(std::string_view name) {
  const auto application = applications_.find(name);
  if (application == applications_.end()) return;
  for (const Id id : application->second.endpoints) endpoints_.erase(id);
  applications_.erase(application);
}

std::vector<std::string> Directory::applications() const {
  std::vector<std::string> names;
  names.reserve(applications_.size());
  for (const auto& [name, application] : applications_) names.push_back(name);
  return names;
}

void Directory::index(const Endpoint& endpoint) {
  Application& application = applications_[endpoint.application];
  application.endpoints.insert(endpoint.id);
  if (!names_types_only(endpoint.config)) {
    application.of_patterns.insert(endpoint.id);
    return;
  }
  for (const std::string& type : endpoint.config.types) {
    application.by_type[type].insert(endpoint.id);
  }
}

void Directory::remove_from_index(const Endpoint& endpoint) {
  Application& application = applications_[endpoint.application];
  application.endpoints.erase(endpoint.id);
  application.of_patterns.erase(endpoint.id);
  for (const std::string& type : endpoint.config.types) {
    const auto found = application.by_type.find(type);
    if (found == application.by_type.end()) continue;
    found->second.erase(endpoint.id);
    if (found->second.empty()) application.by_type.erase(found);
  }
}

void Directory::put(Endpoint endpoint) {
  const Id id = endpoint.id;
  if (const Endpoint* const before = find(id)) remove_from_index(*before);
  index(endpoint);
  endpoints_.insert_or_assign(id, std::move(endpoint));
}

void Directory::on_written(Id endpoint, std::int64_t version) {
  const auto found = endpoints_.find(endpoint);
  if (found != endpoints_.end() && found->second.version == version) ++found->second.version;
}

void Directory::remove(Id endpoint) {
  const auto found = endpoints_.find(endpoint);
  if (found == endpoints_.end()) return;
  remove_from_index(found->second);
  endpoints_.erase(found);
}

const Endpoint* Directory::find(Id endpoint) const {
  const auto found = endpoints_.find(endpoint);
  return found == endpoints_.end() ? nullptr : &found->second;
}

std::vector<const Endpoint*> Directory::endpoints_of(std::string_view application) const {
  std::vector<const Endpoint*> endpoints;
  const auto found = applications_.find(application);
  if (found == applications_.end()) return endpoints;
  endpoints.reserve(found->second.endpoints.size());
  for (const Id id : found->second.endpoints) endpoints.push_back(find(id));
  return endpoints;
}

std::vector<Id> Directory::match(std::string_view application, std::string_view type,
                                 std::string_view channel, std::string_view payload) const {
  std::vector<Id> ids;
  const auto found = applications_.find(application);
  if (found == applications_.end()) return ids;
  std::optional<text::JsonValue> parsed;
  const auto add_matching = [&](const std::set<Id>& candidates) {
    for (const Id id : candidates) {
      const EndpointConfig& config = find(id)->config;
      if (!matches(config, type, channel)) continue;
      if (!config.filter.empty()) {
        if (!parsed) parsed = read_payload(payload);
        if (!matches(config.filter, *parsed)) continue;
      }
      ids.push_back(id);
    }
  };
  add_matching(found->second.of_patterns);
  if (const auto named = found->second.by_type.find(type); named != found->second.by_type.end()) {
    add_matching(named->second);
  }
  std::ranges::sort(ids);
  return ids;
}

}  // namespace damper::webhooks
