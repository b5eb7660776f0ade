#include "damper/proxy/config/balance_schema.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/base/text/words.h"
#include "damper/policy/file/schema.h"
#include "damper/proxy/config/proxy_schema.h"
#include "damper/proxy/config/proxy_texts.h"

namespace damper::proxy {
namespace {

using balance::ReplicaOptions;
using config::Error;
using config::Schema;
using config::Tree;
using config::Value;
namespace form = config::form;

constexpr std::string_view kZonesForms =
    "a map from names of zones to endpoints, such as {a: [http://10.0.0.1:9000]}";
constexpr config::Form kEndpoints = form::parsed_list(read_endpoint, kEndpointForms, 1, kMostTexts);

// "ENDPOINT ZONE" for each endpoint: neither has a space.
Expected<Value, Error> read_zones(const Tree& tree) {
  if (!tree.is_map() || tree.pairs() > kMostTexts) {
    return unexpected(Error{{}, tree.place, "zones must be " + std::string(kZonesForms)});
  }
  std::vector<std::string> all;
  std::map<std::string, std::string> seen;
  for (std::size_t i = 0; i < tree.pairs(); ++i) {
    const auto zone = config::read_value("a zone", policy::kName, tree.key(i));
    if (!zone) return unexpected(zone.error());
    const auto& name = std::get<std::string>(*zone);
    const auto endpoints = config::read_value(name, kEndpoints, tree.value(i));
    if (!endpoints) return unexpected(endpoints.error());
    for (const std::string& endpoint : std::get<std::vector<std::string>>(*endpoints)) {
      if (const auto [known, is_new] = seen.emplace(endpoint, name); !is_new) {
        std::string sentence = "zones has the endpoint " + text::in_quotes(endpoint);
        sentence.append(" twice, first in ").append(known->second);
        return unexpected(Error{{}, tree.value(i).place, std::move(sentence)});
      }
      all.emplace_back(endpoint).append(" ").append(name);
    }
  }
  return Value(std::move(all));
}

std::pair<std::string, std::string> split(const std::string& entry) {
  const std::size_t space = entry.find(' ');
  return {entry.substr(0, space), entry.substr(space + 1)};
}

std::string write_zones(const Value& value) {
  std::map<std::string, std::string> lists;
  for (const std::string& entry : std::get<std::vector<std::string>>(value)) {
    const auto [endpoint, zone] = split(entry);
    std::string& list = lists[zone];
    list += (list.empty() ? "" : ", ") + config::quoted(endpoint);
  }
  std::string text;
  for (const auto& [zone, list] : lists) {
    text += (text.empty() ? "{ " : ", ") + config::quoted(zone) + ": [" + list + ']';
  }
  return text.empty() ? text : text + " }";
}

Value zones_of(const ClusterConfig& cluster) {
  std::vector<std::string> all;
  all.reserve(cluster.zones.size());
  for (const auto& [endpoint, zone] : cluster.zones) {
    all.emplace_back(endpoint).append(" ").append(zone);
  }
  return all;
}
void set_zones(ClusterConfig& cluster, const Value& value) {
  cluster.zones.clear();
  for (const std::string& entry : std::get<std::vector<std::string>>(value)) {
    cluster.zones.insert(split(entry));
  }
}

}  // namespace

void add_balance(Schema<ClusterConfig>& s) {
  s.key<DAMPER_FIELD(replicas.lb_policy)>(
      "lb_policy", form::choice(balance::kLbPolicyNames),
      "Replica of an attempt. least_request: the less loaded of two random ones. consistent_hash: "
      "by the key of the request; least_request for requests without a key.");
  s.key<DAMPER_FIELD(replicas.hash_balance_factor)>(
      "hash_balance_factor", form::percent(ReplicaOptions::kHashBalanceFactor),
      "With consistent_hash, a replica has at most this percentage of its fair share of the "
      "attempts in flight, on each loop; the next one of the key's order gets the others.");
  s.key<zones_of, set_zones>("zones",
                             {.kind = config::Kind::custom,
                              .accepted = kZonesForms,
                              .read = read_zones,
                              .write = write_zones},
                             "Zones of the endpoints. Replicas in the zone of the proxy are "
                             "preferred, as far as they can serve its requests.");
  s.key<DAMPER_FIELD(replicas.zone_overprovisioning)>(
      "zone_overprovisioning", form::percent(ReplicaOptions::kZoneOverprovisioning),
      "Requests that a replica gets from its own zone, at most, as a percentage of its fair share "
      "of all; beyond it they spill to other zones. Zones are taken to send equal parts.");
}

}  // namespace damper::proxy
