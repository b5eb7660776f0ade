#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/http/codec/head.h"

namespace damper::proxy {

// A HashPolicy says which part of a request is its key. Requests with the same key get the same
// cluster of a split.
//
// Model: one of a field's value, a cookie's value, or the client's address. A request that does not
// have it, or has it empty, has no key. With a `ttl` a request without the cookie gets one: a
// random value, which is its key already, and which the response sets (`made_value`).
// The key is SipHash-2-4 of the text under a fixed, public key: every proxy and every restart must
// agree. What hostile clients can do with that: docs/design/0052.
struct HashPolicy {
  static constexpr Duration kNotMade{-1};

  std::string header{};     // in lower case
  std::string cookie{};     // its name
  Duration ttl = kNotMade;  // of a cookie that is made; 0: until the browser is closed
  std::string path = "/";   // of a cookie that is made
  bool client_address = false;

  friend bool operator==(const HashPolicy&, const HashPolicy&) = default;
};

// Which key of the policy is wrong, and why; nothing: it is fine.
struct HashPolicyError {
  std::string_view key;
  std::string sentence;
};
[[nodiscard]] std::optional<HashPolicyError> find_error(const HashPolicy& policy);

// The 64-bit key of a text. Cost: some 20 ns for up to 32 bytes.
[[nodiscard]] std::uint64_t hash_key_of(std::string_view text) noexcept;

// The value of the cookie of that name, without quotes; nothing: there is none, or it is empty.
// Model: pairs in all `cookie` fields (HTTP/2 may have several), split at ';' (RFC 6265, 4.2.1);
// the first of the name.
[[nodiscard]] std::optional<std::string_view> find_cookie(std::span<const http::Field> fields,
                                                          std::string_view name) noexcept;

// The text that the policy uses as the key of a request; nothing: the request has none.
// `client_address` is that before trusted proxies.
[[nodiscard]] std::optional<std::string_view> find_key_text(
    const HashPolicy& policy, std::span<const http::Field> fields,
    std::string_view client_address) noexcept;

// The 16 hexadecimal digits that a made cookie has as its value.
using CookieValue = std::array<char, 16>;
[[nodiscard]] CookieValue cookie_value(std::uint64_t random_bits) noexcept;

// The value of Set-Cookie for a made cookie: "NAME=VALUE; Max-Age=3600; Path=/; HttpOnly", with
// "; Secure" if the client's connection is TLS: without it a browser would send the cookie over
// plain HTTP as well.
// Cost: no allocation once `into` has held one as long.
void write_set_cookie(const HashPolicy& policy, std::string_view value, bool secure,
                      std::string& into);

}  // namespace damper::proxy
