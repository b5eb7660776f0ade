#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"

namespace damper::proxy {

// One key as it is, or as it went.
struct EtcdEntry {
  std::string key;
  std::string value;
  std::int64_t revision = 0;  // of the whole store, when it was last written
  bool deleted = false;

  friend bool operator==(const EtcdEntry&, const EtcdEntry&) = default;
};

// What etcd's gateway answered, or one line of what it streams.
struct EtcdAnswer {
  std::int64_t revision = 0;  // of the store
  std::vector<EtcdEntry> entries;
  bool more = false;     // there are more keys than were asked for
  bool created = false;  // of a watch: it is there
  // Of a watch: it is over. The history that it wants may be gone: then one has to read again.
  bool canceled = false;
};

inline constexpr std::size_t kMostEtcdKeys = 1000;
// etcd takes values of 1.5 MiB, which are 2 MiB in base64; all of our keys together fit in this.
inline constexpr std::size_t kMostEtcdBytes = std::size_t{4} * 1024 * 1024;

// An answer of /v3/kv/range, or a line of /v3/watch; or one sentence on why it is none.
[[nodiscard]] Expected<EtcdAnswer> parse_etcd_range(std::string_view text);
[[nodiscard]] Expected<EtcdAnswer> parse_etcd_watch(std::string_view line);

// What is asked: every key that begins with the prefix; every change of those from `revision` on.
[[nodiscard]] std::string etcd_range(std::string_view prefix);
[[nodiscard]] std::string etcd_watch(std::string_view prefix, std::int64_t revision);

}  // namespace damper::proxy
