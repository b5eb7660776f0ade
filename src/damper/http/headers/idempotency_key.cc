#include "damper/http/headers/idempotency_key.h"

#include <sys/random.h>

#include <array>

#include "damper/base/check.h"

namespace damper::http {

std::string make_idempotency_key() {
  std::array<unsigned char, 16> bytes{};
  DAMPER_CHECK(getrandom(bytes.data(), bytes.size(), 0) == 16);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string key;
  key.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) {
    key += kDigits[byte >> 4];
    key += kDigits[byte & 15];
  }
  return key;
}

}  // namespace damper::http
