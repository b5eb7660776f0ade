#include "damper/proxy/config/proxy_schema.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

namespace damper::proxy {
namespace {

using policy::parent;

// Things with everything turned on.
struct Everything {
  ProxyConfig proxy;
  ListenerConfig listener{.name = "l"};
  ClusterConfig cluster{.name = "c", .endpoints = {}};
  RouteConfig route{.name = "r", .cluster = {}};
  Subject subject{&proxy, &listener, &cluster, &route};

  Everything() {
    for (const ProxySection& section : proxy_sections()) {
      if (section.turn != nullptr) section.turn(subject, true);
    }
  }
};

TEST(ProxySchema, PathsAreUniqueAndEachStandsInASection) {
  std::set<std::pair<Thing, std::string_view>> paths;
  for (const ProxyKey& key : proxy_keys()) {
    EXPECT_TRUE(paths.emplace(key.thing, key.form.path).second) << key.form.path;
    const std::string_view section = parent(key.form.path);
    EXPECT_TRUE(section.empty() || find_proxy_section(key.thing, section)) << key.form.path;
  }
  for (const ProxySection& section : proxy_sections()) {
    EXPECT_TRUE(paths.emplace(section.thing, section.path).second) << section.path;
  }
  for (const ProxyMoved& moved : proxy_moved()) {
    EXPECT_TRUE(paths.emplace(moved.thing, moved.from).second) << moved.from;
    EXPECT_TRUE(moved.to.empty() || find_proxy_key(moved.thing, moved.to) ||
                find_proxy_section(moved.thing, moved.to))
        << moved.to;
  }
}

// Else one of the two would be read by nobody.
TEST(ProxySchema, NoWordOfARouteIsAWordOfThePolicysBlock) {
  for (const std::string_view word : proxy_words(Thing::route, "")) {
    for (const std::string_view other : policy::words_in("")) EXPECT_NE(word, other);
  }
}

TEST(ProxySchema, EveryKeyAndSectionIsDocumentedInASentence) {
  for (const ProxyKey& key : proxy_keys())
    EXPECT_TRUE(key.form.doc.ends_with('.')) << key.form.path;
  for (const ProxySection& section : proxy_sections()) EXPECT_TRUE(section.doc.ends_with('.'));
}

TEST(ProxySchema, EveryDefaultIsWithinItsBounds) {
  const Everything all;
  for (const ProxyKey& key : proxy_keys()) {
    if (key.shape != Shape::raw) continue;
    const std::int64_t raw = key.get(all.subject);
    EXPECT_TRUE(raw == key.form.off || (raw >= key.form.low && raw <= key.form.high))
        << key.form.path;
  }
}

TEST(ProxySchema, EveryKeyHasAFieldOfItsOwn) {
  const Everything all;
  for (const ProxyKey& key : proxy_keys()) {
    if (key.shape != Shape::raw) continue;
    for (const std::int64_t raw : {key.form.low, key.form.high}) {
      std::vector<std::int64_t> before;
      for (const ProxyKey& other : proxy_keys()) {
        before.push_back(other.shape == Shape::raw ? other.get(all.subject) : 0);
      }
      key.set(all.subject, raw);
      EXPECT_EQ(key.get(all.subject), raw) << key.form.path;
      for (std::size_t i = 0; i < proxy_keys().size(); ++i) {
        const ProxyKey& other = proxy_keys()[i];
        if (&other == &key || other.shape != Shape::raw) continue;
        EXPECT_EQ(other.get(all.subject), before[i]) << key.form.path << ' ' << other.form.path;
      }
    }
  }
}

// find_error() of each part and the table's bounds say the same: no value of the table's is refused
// by it, one by one.
TEST(ProxySchema, TheBoundsAreThoseOfTheOptionsThemselves) {
  for (const ProxyKey& key : proxy_keys()) {
    if (key.shape != Shape::raw) continue;
    for (const std::int64_t raw : {key.form.low, key.form.high}) {
      const Everything all;
      key.set(all.subject, raw);
      const std::string_view path = key.form.path;
      EXPECT_FALSE(http::find_error(all.listener.limits)) << path;
      EXPECT_FALSE(http::find_error(all.cluster.pool)) << path;
      EXPECT_FALSE(http::find_error(all.cluster.dialer)) << path;
      EXPECT_FALSE(admit::find_error(*all.route.rate_limit)) << path;
      EXPECT_FALSE(admit::find_error(*all.cluster.retry_budget)) << path;
    }
  }
}

TEST(ProxySchema, ATextIsWrittenInQuotes) {
  EXPECT_EQ(quoted(R"(a "b" \c)"), R"("a \"b\" \\c")");
  Everything all;
  const auto written = [&](Thing thing, std::string_view path) {
    return write(proxy_keys()[*find_proxy_key(thing, path)], all.subject);
  };
  EXPECT_EQ(written(Thing::route, "match.hosts"), "");
  EXPECT_EQ(written(Thing::route, "match.headers"), "");
  all.route.match.hosts = {"a", "b"};
  all.route.match.headers = {{.name = "x", .value = "1"}, {.name = "y"}};
  EXPECT_EQ(written(Thing::route, "match.hosts"), R"(["a", "b"])");
  EXPECT_EQ(written(Thing::route, "match.headers"),
            R"([{ name: "x", exact_match: "1" }, { name: "y", present_match: true }])");
  EXPECT_EQ(written(Thing::proxy, "admin.address"), R"("127.0.0.1:9901")");
}

}  // namespace
}  // namespace damper::proxy
