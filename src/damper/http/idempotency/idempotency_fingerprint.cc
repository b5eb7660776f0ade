#include "damper/http/idempotency/idempotency_fingerprint.h"

#include <openssl/evp.h>

#include <memory>
#include <string_view>

#include "damper/base/check.h"

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

}  // namespace damper::http
