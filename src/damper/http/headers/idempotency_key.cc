#include "damper/http/headers/idempotency_key.h"

#include <sys/random.h>

#include <array>

#include "damper/base/check.h"
#include "damper/base/text/hex.h"

namespace damper::http {

std::string make_idempotency_key() {
  std::array<std::uint64_t, 2> bits{};
  DAMPER_CHECK(getrandom(bits.data(), sizeof(bits), 0) == sizeof(bits));
  std::string key(32, '0');
  (void)text::put_hex(bits[1], text::put_hex(bits[0], key.data()));
  return key;
}

}  // namespace damper::http
