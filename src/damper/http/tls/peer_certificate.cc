#include "damper/http/tls/peer_certificate.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

namespace damper::http {
namespace {

constexpr int kMostNames = 16;
constexpr std::size_t kLongestValue = 1024;

template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* thing) const noexcept {
    kFree(thing);
  }
};
using Names = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;

void append_hash(std::string& out, const X509* certificate) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) return;
  out += "Hash=";
  for (unsigned i = 0; i < size; ++i) {
    out += kHex[digest[i] >> 4];
    out += kHex[digest[i] & 15];
  }
}

void append_quoted(std::string& out, std::string_view value) {
  out += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

void append_subject(std::string& out, const X509* certificate) {
  const Bio text(BIO_new(BIO_s_mem()));
  // RFC 2253 escapes quotes, control characters and everything over 0x7f.
  if (!text ||
      X509_NAME_print_ex(text.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253) < 0) {
    return;
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  const std::string_view subject(data, static_cast<std::size_t>(std::max(size, 0L)));
  if (subject.empty() || subject.size() > kLongestValue) return;
  out.append(";Subject=\"").append(subject).append("\"");
}

void append_names(std::string& out, X509* certificate) {
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  const int count = names ? std::min(sk_GENERAL_NAME_num(names.get()), kMostNames) : 0;
  for (int i = 0; i < count; ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI && name->type != GEN_DNS) continue;
    const ASN1_IA5STRING* const value = name->d.ia5;
    const std::string_view text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                                static_cast<std::size_t>(ASN1_STRING_length(value)));
    const bool visible =
        std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
    if (text.empty() || !visible || text.size() > kLongestValue) continue;
    out += name->type == GEN_URI ? ";URI=" : ";DNS=";
    if (text.find_first_of(",;=\"\\") == std::string_view::npos) {
      out += text;
    } else {
      append_quoted(out, text);
    }
  }
}

}  // namespace

std::string describe_peer_certificate(ssl_st* tls) {
  X509* const certificate = SSL_get0_peer_certificate(tls);
  const bool verified =
      (SSL_get_verify_mode(tls) & SSL_VERIFY_PEER) != 0 && SSL_get_verify_result(tls) == X509_V_OK;
  std::string out;
  if (certificate == nullptr || !verified) return out;
  append_hash(out, certificate);
  append_subject(out, certificate);
  append_names(out, certificate);
  return out;
}

}  // namespace damper::http
