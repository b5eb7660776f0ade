#include "damper/http/idempotency/idempotency_metrics.h"

#include <utility>

#include "damper/observe/labels.h"

namespace damper::http {

observe::Registry::Collection show(const IdempotencyStore& store, std::string name,
                                   observe::Registry& registry) {
  return registry.collect([&store, name = std::move(name)](observe::Exposition& out) {
    const IdempotencyTally& tally = store.tally();
    const observe::Labels labels{{"store", name}};
    for (std::size_t i = 0; i < kKeyStateNames.size(); ++i) {
      out.counter("damper_idempotency_requests_total",
                  "Requests with a key, by what was found under it.",
                  observe::Labels{{"store", name}, {"result", std::string(kKeyStateNames[i])}},
                  tally.claims[i].load());
    }
    out.counter("damper_idempotency_evictions_total",
                "Answers that made room before their time had come.", labels,
                tally.evictions.load());
    out.counter("damper_idempotency_expirations_total", "Answers whose time had come.", labels,
                tally.expirations.load());
    out.counter("damper_idempotency_recovered_total", "Keys whose first owner had died.", labels,
                tally.recovered.load());
    out.counter("damper_idempotency_lost_total", "Answers that came when the lease was over.",
                labels, tally.lost.load());
    out.counter("damper_idempotency_unkept_total",
                "Answers for which there was no room: a 409 is replayed instead.", labels,
                tally.unkept.load());
    out.counter("damper_idempotency_errors_total", "Errors of the store itself.", labels,
                tally.errors.load());
    out.gauge("damper_idempotency_entries", "Keys that are kept.", labels, tally.entries.load());
    out.gauge("damper_idempotency_bytes", "Bytes that they take, where it is known.", labels,
              tally.bytes.load());
  });
}

}  // namespace damper::http
