#ifndef DAMPER_HTTP_NET_SHARED_RESOLVER_H_
#define DAMPER_HTTP_NET_SHARED_RESOLVER_H_

#include <cstddef>
#include <memory>
#include <string>

#include "damper/base/instant.h"
#include "damper/http/net/dialer.h"
#include "damper/http/net/loop.h"

namespace damper::http {

// A SharedResolver asks another resolver once for all who want the same name.
//
// Why: the system's resolver looks up one name after the other, on one thread. When it is slow,
// every connection that is tried would put one more lookup of the same name in its line, those that
// were given up included, and it would be behind long after it has become fast again.
// Model: one lookup of a name at a time; who asks meanwhile hears its answer. An answer, also that
// there is no such name, is kept for kKeep.
// Invariants:
//   (1) At most kMostLookups are under way, kMostWaiting wait for one, kMostKept answers are kept.
//       Beyond these a name is not found, or its answer not kept.
//   (2) Nobody is told after the SharedResolver has gone.
// Thread safety: none; all on the loop's thread.
class SharedResolver final : public Resolver {
 public:
  static constexpr Duration kKeep = std::chrono::seconds(1);
  static constexpr std::size_t kMostLookups = 64;
  static constexpr std::size_t kMostWaiting = 4096;
  static constexpr std::size_t kMostKept = 1024;

  SharedResolver(Loop& loop, std::unique_ptr<Resolver> asked);
  ~SharedResolver() override;
  void resolve(const std::string& host, Done done) override;

 private:
  struct Table;

  static void on_found(Table& table, const std::string& host,
                       const std::vector<std::string>& addresses);

  const std::shared_ptr<Table> table_;  // Lookups under way know it, as long as it is there.
  const std::unique_ptr<Resolver> asked_;
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_NET_SHARED_RESOLVER_H_
