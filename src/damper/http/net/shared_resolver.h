#pragma once

#include <cstddef>
#include <memory>
#include <string>

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

  SharedResolver(Loop& loop, std::unique_ptr<Resolver> inner);
  ~SharedResolver() override;
  void resolve(const std::string& host, Done done) override;

 private:
  struct Table;

  static void on_found(Table& table, const std::string& host,
                       const std::vector<std::string>& addresses);

  const std::shared_ptr<Table> table_;  // lookups in flight have a weak pointer to it
  const std::unique_ptr<Resolver> inner_;
};

}  // namespace damper::http
