#ifndef DAMPER_PROXY_CONFIG_PROXY_SCHEMA_H_
#define DAMPER_PROXY_CONFIG_PROXY_SCHEMA_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/policy/file/schema.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {

// The schema of the proxy's file: every key beyond those of a policy block, in one table.
//
// Why: what loads a file, what prints it back, what an error lists and what the reference says are
// four views of the same facts (policy/schema.h has the keys of a route's policy, in the same way).
// Model: a file is made of things: the proxy itself, listeners, clusters and routes. A ProxyKey is
// a path within one kind of thing. Most values are one integer, read and written as policy/ does;
// others are texts. A section that can be turned off is an optional part of its thing.

enum class Thing : std::uint8_t { proxy, listener, cluster, route };
inline constexpr std::size_t kThings = 4;

// What is read or written: the one of its kind is there, and for the others nothing.
struct Subject {
  ProxyConfig* proxy = nullptr;
  ListenerConfig* listener = nullptr;
  ClusterConfig* cluster = nullptr;
  RouteConfig* route = nullptr;
};

enum class Shape : std::uint8_t {
  raw,      // one integer: see policy::Key
  text,     // one text; an empty one was not said
  texts,    // a list of texts
  headers,  // {NAME: VALUE}, or [{name: NAME, exact_match: VALUE}]: RouteMatch::headers
};

struct ProxyKey {
  Thing thing = Thing::proxy;
  Shape shape = Shape::raw;
  policy::Key form{};  // path, doc; of a raw value its kind, bounds and names; not get and set
  std::int64_t (*get)(const Subject&) = nullptr;  // REQUIRES: the section is on.
  void (*set)(const Subject&, std::int64_t) = nullptr;
  std::string_view accepted{};  // of a text, or of one of a list: what it must be
  std::string (*text)(const Subject&) = nullptr;
  std::vector<std::string>& (*texts)(const Subject&) = nullptr;
  // Sets the text, or adds it to the list; or says in a sentence, perhaps an empty one, that it may
  // not be.
  std::optional<std::string> (*take)(const Subject&, std::string_view) = nullptr;
};

struct ProxySection {
  Thing thing = Thing::proxy;
  std::string_view path;
  std::string_view doc;
  bool (*on)(const Subject&) = nullptr;          // Null: it is always on.
  void (*turn)(const Subject&, bool) = nullptr;  // Not null: it may be `on` or `off`.
};

// Another name or place of a key or a section: Envoy's. An empty `to` is the thing itself.
struct ProxyMoved {
  Thing thing = Thing::proxy;
  std::string_view from;
  std::string_view to;
};

inline constexpr std::size_t kMostListeners = 64;
inline constexpr std::size_t kMostClusters = 1000;
inline constexpr std::size_t kMostTexts = 256;     // in one list
inline constexpr std::size_t kLongestText = 1024;  // bytes

[[nodiscard]] std::span<const ProxyKey> proxy_keys();
[[nodiscard]] std::span<const ProxySection> proxy_sections();
[[nodiscard]] std::span<const ProxyMoved> proxy_moved();

// The position in the table; nothing when there is none.
[[nodiscard]] std::optional<std::size_t> find_proxy_key(Thing thing, std::string_view path);
[[nodiscard]] std::optional<std::size_t> find_proxy_section(Thing thing, std::string_view path);

// The words that are accepted in the section; "" is the thing itself. Moved ones are last.
[[nodiscard]] std::vector<std::string_view> proxy_words(Thing thing, std::string_view section);

// The value in force as YAML on one line; empty: it was not said and has no default.
// REQUIRES: the section is on.
[[nodiscard]] std::string write(const ProxyKey& key, const Subject& subject);

// What a value must be: the second half of "KEY must be ...".
[[nodiscard]] std::string accepted(const ProxyKey& key);

// A text as YAML, in double quotes.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_CONFIG_PROXY_SCHEMA_H_
