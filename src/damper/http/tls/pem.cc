#include "damper/http/tls/pem.h"

#include <openssl/pem.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <system_error>
#include <utility>

#include "damper/http/codec/chars.h"

namespace damper::http {
namespace {

// A text, and its name in errors: "key_file /etc/key.pem", "key_pem".
struct PemText {
  std::string name;
  std::string text;
};

Expected<PemText> open_pem(const std::string& file, const std::string& pem,
                           std::string_view option) {
  if (file.empty()) return PemText{.name = std::string(option) + "_pem", .text = pem};
  PemText out{.name = std::string(option) + "_file " + file, .text = {}};
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  out.text.resize(kMostPemBytes + 1);
  if (stream) stream.read(out.text.data(), static_cast<std::streamsize>(out.text.size()));
  if (!stream.is_open() || stream.bad()) {
    return unexpected(
        out.name + " cannot be read: " + std::generic_category().message(errno != 0 ? errno : EIO));
  }
  out.text.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  if (out.text.size() > kMostPemBytes) {
    return unexpected(out.name + " has more than " + std::to_string(kMostPemBytes) + " bytes");
  }
  return out;
}

BioPointer read_from(std::string_view text) {
  return BioPointer(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// All certificates of a text.
Expected<std::vector<CertificatePointer>> read_certificates(const PemText& pem) {
  std::vector<CertificatePointer> all;
  const BioPointer bio = read_from(pem.text);
  ERR_clear_error();
  while (CertificatePointer next{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    all.push_back(std::move(next));
  }
  // The only good end is that no further block begins.
  const unsigned long error = ERR_peek_last_error();
  const bool at_end =
      ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  if (!at_end) return unexpected(openssl_failure(pem.name + " has a damaged certificate"));
  ERR_clear_error();
  if (all.empty()) return unexpected(pem.name + " has no certificate");
  return all;
}

int no_password(char*, int, int, void*) { return -1; }

}  // namespace

std::int64_t LoadedIdentity::not_after() const {
  std::tm time{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &time) != 1) return 0;
  return timegm(&time);
}

std::vector<std::string> LoadedIdentity::names() const {
  std::vector<std::string> out;
  const auto add = [&](const ASN1_STRING* value) {
    const std::string_view text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                                static_cast<std::size_t>(ASN1_STRING_length(value)));
    const bool visible =
        std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
    if (!text.empty() && text.size() <= 253 && visible) out.push_back(lowered(text));
  };
  const NamesPointer all(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; all && i < sk_GENERAL_NAME_num(all.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(all.get(), i);
    if (name->type == GEN_DNS) add(name->d.ia5);
  }
  if (all) return out;
  const X509_NAME* const subject = X509_get_subject_name(certificate.get());
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at >= 0) add(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  return out;
}

Expected<LoadedIdentity> load_identity(const TlsIdentity& identity) {
  // Text wins: `certificate_pem` is instead of the files.
  const bool as_text = !identity.certificate_pem.empty();
  const std::string none;
  const auto pem =
      open_pem(as_text ? none : identity.certificate_file, identity.certificate_pem, "certificate");
  if (!pem) return unexpected(pem.error());
  const auto key_pem = open_pem(as_text ? none : identity.key_file, identity.key_pem, "key");
  if (!key_pem) return unexpected(key_pem.error());
  auto certificates = read_certificates(*pem);
  if (!certificates) return unexpected(certificates.error());
  LoadedIdentity out{.certificate = std::move(certificates->front()),
                     .chain = ChainPointer(sk_X509_new_null()),
                     .key = nullptr};
  for (auto next = certificates->begin() + 1; next != certificates->end(); ++next) {
    if (!out.chain || sk_X509_push(out.chain.get(), next->get()) == 0) {
      return unexpected(std::string("no memory for a certificate"));
    }
    (void)next->release();  // The chain has it now.
  }
  const BioPointer bio = read_from(key_pem->text);
  out.key.reset(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (!out.key) return unexpected(openssl_failure(key_pem->name + " has no usable key"));
  if (X509_check_private_key(out.certificate.get(), out.key.get()) != 1) {
    ERR_clear_error();
    return unexpected(key_pem->name + " has no key that fits " + pem->name);
  }
  return out;
}

Expected<LoadedCas> load_cas(const std::string& file, const std::string& pem,
                             std::string_view option) {
  auto text = open_pem(pem.empty() ? file : std::string(), pem, option);
  if (!text) return unexpected(text.error());
  auto certificates = read_certificates(*text);
  if (!certificates) return unexpected(certificates.error());
  return LoadedCas{.pem = std::move(text->text), .certificates = *std::move(certificates)};
}

}  // namespace damper::http
