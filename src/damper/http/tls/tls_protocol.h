#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/enum_names.h"

struct ssl_ctx_st;

namespace damper::http {

enum class TlsVersion : std::uint8_t { tls1_2, tls1_3 };
inline constexpr EnumNames<TlsVersion::tls1_3> kTlsVersionNames = {"TLSv1_2", "TLSv1_3"};

// Versions, cipher suites and groups of TLS connections.
//
// Model: `cipher_suites` has names of OpenSSL (ECDHE-RSA-AES128-GCM-SHA256) or of IANA, for TLS 1.2
// and for TLS 1.3 (TLS_AES_128_GCM_SHA256) in one list. A version without a suite in the list has
// its default. The default of a server for TLS 1.2: ephemeral key exchange and AEAD only. The
// default of a client for TLS 1.2, and of TLS 1.3, is OpenSSL's.
struct TlsProtocolOptions {
  TlsVersion min_version = TlsVersion::tls1_2;
  TlsVersion max_version = TlsVersion::tls1_3;
  std::vector<std::string> cipher_suites{};
  std::vector<std::string> curves{};  // "X25519", "P-256"; empty: OpenSSL's

  friend bool operator==(const TlsProtocolOptions&, const TlsProtocolOptions&) = default;
};

inline constexpr std::string_view kServerCiphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

// What is wrong, and the member that it is about: "cipher_suites".
struct TlsProtocolError {
  std::string_view member;
  std::string sentence;
};
// A suite that OpenSSL does not have, or that does not encrypt or authenticate, is refused by its
// name: OpenSSL itself ignores an unknown one beside a known one.
[[nodiscard]] std::optional<TlsProtocolError> find_error(const TlsProtocolOptions& options);

// REQUIRES: !find_error(options). False: OpenSSL refuses them all the same.
[[nodiscard]] bool try_apply(const TlsProtocolOptions& options, ssl_ctx_st* settings,
                             bool is_server);

}  // namespace damper::http
