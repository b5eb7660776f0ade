#include "damper/http/idempotency/idempotency_store.h"

#include <openssl/evp.h>

#include <memory>
#include <string_view>
#include <utility>

#include "damper/base/check.h"
#include "damper/observe/labels.h"

namespace damper::http {

Fingerprint fingerprint(const Request& request) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(),
                                                                     &EVP_MD_CTX_free);
  DAMPER_CHECK(hash != nullptr && EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) == 1);
  // Each part with its length before it: "ab" + "c" is not "a" + "bc".
  for (const std::string_view part :
       {std::string_view(request.method), std::string_view(request.authority),
        std::string_view(request.target), std::string_view(request.body)}) {
    std::array<std::uint8_t, 8> length{};
    for (std::size_t i = 0; i < length.size(); ++i) {
      length[i] = static_cast<std::uint8_t>(part.size() >> (8 * i));
    }
    DAMPER_CHECK(EVP_DigestUpdate(hash.get(), length.data(), length.size()) == 1);
    DAMPER_CHECK(EVP_DigestUpdate(hash.get(), part.data(), part.size()) == 1);
  }
  Fingerprint result{};
  unsigned size = 0;
  DAMPER_CHECK(EVP_DigestFinal_ex(hash.get(), result.data(), &size) == 1 && size == result.size());
  return result;
}

Response answer_not_kept() {
  return Response::plain(409, "The request was carried out, and its answer could not be kept.\n");
}

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
