#include "damper/proxy/split/split_schema.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "damper/http/codec/chars.h"
#include "damper/policy/file/schema.h"
#include "damper/proxy/config/proxy_texts.h"

namespace damper::proxy {
namespace {

using config::Error;
using config::Schema;
using config::Tree;
using config::Value;
using namespace std::chrono_literals;
namespace form = config::form;
using Texts = std::vector<std::string>;

constexpr std::size_t kLongestCookie = 100;  // characters of a name

// A weight in a Value: "90 NAME".
std::string text_of(const ClusterWeight& one) {
  return std::to_string(one.weight) + ' ' + one.cluster;
}
ClusterWeight weight_of(const std::string& text) {
  const std::size_t space = text.find(' ');
  return {.cluster = text.substr(space + 1),
          .weight = static_cast<std::uint32_t>(std::stoul(text.substr(0, space)))};
}

Value weights_of(const RouteConfig& route) {
  Texts texts;
  for (const ClusterWeight& one : route.weighted_clusters) texts.push_back(text_of(one));
  return texts;
}
void set_weights(RouteConfig& route, const Value& value) {
  route.weighted_clusters.clear();
  for (const std::string& text : std::get<Texts>(value)) {
    route.weighted_clusters.push_back(weight_of(text));
  }
}

std::string write_weights(const Value& value) {
  std::string out;
  for (const std::string& text : std::get<Texts>(value)) {
    const ClusterWeight one = weight_of(text);
    out += (out.empty() ? "[{ cluster: " : ", { cluster: ") + config::quoted(one.cluster) +
           ", weight: " + std::to_string(one.weight) + " }";
  }
  return out.empty() ? out : out + ']';
}

// {cluster: stable, weight: 90}; `name` is Envoy's word for the cluster.
Expected<ClusterWeight, Error> read_weight(const Tree& item, const Error& refused) {
  const config::Form weights = form::integer(ClusterWeight::kWeight);
  const Tree* cluster = nullptr;
  const Tree* weight = nullptr;
  for (std::size_t i = 0; item.is_map() && i < item.pairs(); ++i) {
    const std::string& word = item.key(i).text;
    if (word == "cluster" || word == "name") cluster = &item.value(i);
    if (word == "weight") weight = &item.value(i);
  }
  if (cluster == nullptr || weight == nullptr || item.pairs() != 2) {
    return unexpected(Error{{}, item.place, refused.sentence});
  }
  auto name = config::read_value("cluster", policy::kName, *cluster);
  if (!name) return unexpected(name.error());
  const auto number = config::read_value("weight", weights, *weight);
  if (!number) return unexpected(number.error());
  return ClusterWeight{.cluster = std::get<std::string>(*std::move(name)),
                       .weight = static_cast<std::uint32_t>(std::get<std::int64_t>(*number))};
}

}  // namespace

Expected<std::string> read_cookie_name(std::string_view text) {
  if (text.empty() || text.size() > kLongestCookie || !http::all(http::kToken, text)) {
    return unexpected(std::string());
  }
  return std::string(text);
}

Expected<std::string> read_cookie_path(std::string_view text) {
  if (text.find(';') != std::string_view::npos) return unexpected(std::string());
  return read_path(text);
}

Expected<Value, Error> read_weights(const Tree& tree) {
  const Error refused{{}, tree.place, "weighted_clusters must be " + std::string(kWeightsForms)};
  if (tree.kind != Tree::Kind::sequence || tree.items.empty() || tree.items.size() > kMostWeights) {
    return unexpected(refused);
  }
  std::vector<ClusterWeight> weights;
  Texts texts;
  for (const Tree& item : tree.items) {
    auto one = read_weight(item, refused);
    if (!one) return unexpected(one.error());
    texts.push_back(text_of(*one));
    weights.push_back(*std::move(one));
  }
  if (auto wrong = find_error(weights)) {
    return unexpected(Error{{}, tree.place, *std::move(wrong)});
  }
  return Value(std::move(texts));
}

void add_split(Schema<RouteConfig>& s) {
  s.key<weights_of, set_weights>(
      "weighted_clusters",
      {.kind = config::Kind::custom,
       .accepted = kWeightsForms,
       .read = read_weights,
       .write = write_weights},
      "Instead of cluster: each request goes to one of these, in proportion to the weights (0 to "
      "1000000). Breaker, budget, throttle and limits are those of each cluster.");
  s.key<DAMPER_FIELD(hash_policy->header)>("hash_policy.header",
                                           form::parsed(read_header_name, kHeaderNameForms),
                                           "The key is the value of this field.");
  s.key<DAMPER_FIELD(hash_policy->cookie)>("hash_policy.cookie",
                                           form::parsed(read_cookie_name, kCookieNameForms),
                                           "The key is the value of this cookie.");
  s.key<DAMPER_FIELD(hash_policy->ttl)>(
      "hash_policy.ttl", form::duration(0s).with_off(HashPolicy::kNotMade.count()),
      "A request without the cookie gets one, for this time; 0s: until the browser is closed. off: "
      "the cookie is another service's, and only read.");
  s.key<DAMPER_FIELD(hash_policy->path)>("hash_policy.path",
                                         form::parsed(read_cookie_path, kCookiePathForms),
                                         "Path of a cookie that is made.");
  s.key<DAMPER_FIELD(hash_policy->client_address)>(
      "hash_policy.client_address", form::kBoolean,
      "The key is the client's address, before trusted proxies.");
  s.optional_section<DAMPER_FIELD(hash_policy)>(
      "hash_policy",
      "Requests with the same key go to the same of the weighted_clusters, and to the same replica "
      "of a cluster with lb_policy: consistent_hash. A request without a key goes to any.");
}

}  // namespace damper::proxy
