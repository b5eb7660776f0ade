#include "damper/proxy/config/tls_schema.h"

#include <string>
#include <utility>
#include <vector>

#include "damper/http/tls/server_certificates.h"
#include "damper/proxy/config/proxy_schema.h"
#include "damper/proxy/config/proxy_texts.h"

namespace damper::proxy {
namespace {

using config::Error;
using config::Schema;
using config::Tree;
using config::Value;
namespace form = config::form;

constexpr config::Form kTlsFile = form::parsed(read_file_name, kFileForms);
constexpr config::Form kServerNames = form::parsed_list(read_host, kHostForms, 1, kMostTexts);
constexpr std::string_view kSuiteForms =
    "a cipher suite such as ECDHE-RSA-AES128-GCM-SHA256 or TLS_AES_128_GCM_SHA256";
constexpr std::string_view kCurveForms = "a curve such as X25519 or P-256";

// Whether OpenSSL has it is checked with the others of the list.
Expected<std::string> read_tls_name(std::string_view text) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  if (text.empty() || text.find_first_not_of(kAllowed) != std::string_view::npos) {
    return unexpected(std::string());
  }
  return std::string(text);
}

// One name: a wildcard is for servers.
Expected<std::string> read_sni(std::string_view text) {
  if (text.starts_with('*')) return unexpected(std::string("a wildcard is no name of a server"));
  return read_host(text);
}
constexpr std::string_view kSniForms = "a host such as shop.example, without a port";

Expected<std::string, Error> read_certificate(const Tree& item, const Error& refused) {
  std::string certificate;
  std::string key;
  std::string names;
  for (std::size_t i = 0; item.is_map() && i < item.pairs(); ++i) {
    const std::string& word = item.key(i).text;
    const bool is_certificate = word == "certificate_file" || word == "certificate_chain";
    const bool is_key = word == "key_file" || word == "private_key";
    if (!is_certificate && !is_key && word != "server_names") {
      return unexpected(Error{{}, item.key(i).place, refused.sentence});
    }
    auto value =
        config::read_value(word, is_certificate || is_key ? kTlsFile : kServerNames, item.value(i));
    if (!value) return unexpected(value.error());
    if (is_certificate) certificate = std::get<std::string>(*value);
    if (is_key) key = std::get<std::string>(*value);
    if (is_certificate || is_key) continue;
    for (const std::string& name : std::get<std::vector<std::string>>(*value)) names += '\n' + name;
  }
  if (certificate.empty() || key.empty()) {
    return unexpected(Error{{}, item.place, refused.sentence});
  }
  return certificate + '\n' + key + names;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string write_certificates(const Value& value) {
  std::string out;
  for (const std::string& one : std::get<std::vector<std::string>>(value)) {
    const std::vector<std::string> lines = lines_of(one);
    out += (out.empty() ? "[{ certificate_file: " : ", { certificate_file: ") +
           config::quoted(lines[0]) + ", key_file: " + config::quoted(lines[1]);
    for (std::size_t i = 2; i < lines.size(); ++i) {
      out += (i == 2 ? ", server_names: [" : ", ") + config::quoted(lines[i]);
    }
    out += lines.size() > 2 ? "] }" : " }";
  }
  return out.empty() ? out : out + ']';
}

Value certificates_of(const ListenerConfig& listener) {
  std::vector<std::string> all;
  for (const http::TlsServerCertificate& one : listener.tls->certificates) {
    std::string& text =
        all.emplace_back(one.identity.certificate_file + '\n' + one.identity.key_file);
    for (const std::string& name : one.server_names) text += '\n' + name;
  }
  return all;
}
void set_certificates(ListenerConfig& listener, const Value& value) {
  listener.tls->certificates.clear();
  for (const std::string& text : std::get<std::vector<std::string>>(value)) {
    std::vector<std::string> lines = lines_of(text);
    http::TlsServerCertificate& one = listener.tls->certificates.emplace_back();
    one.identity.certificate_file = std::move(lines[0]);
    one.identity.key_file = std::move(lines[1]);
    one.server_names.assign(lines.begin() + 2, lines.end());
  }
}

template <auto Protocol, class T>
void add_protocol(Schema<T>& s, std::string_view suites_doc) {
  // NOLINTNEXTLINE(bugprone-macro-parentheses)
#define DAMPER_TLS(member) [](auto& t) -> auto& { return Protocol(t).member; }
  s.template key<DAMPER_TLS(min_version)>("tls.min_version", form::choice(http::kTlsVersionNames),
                                          "Lowest version of TLS.");
  s.template key<DAMPER_TLS(max_version)>("tls.max_version", form::choice(http::kTlsVersionNames),
                                          "Highest version of TLS.");
  s.template key<DAMPER_TLS(cipher_suites)>(
      "tls.cipher_suites", form::parsed_list(read_tls_name, kSuiteForms, 1, kMostTexts),
      suites_doc);
  s.template key<DAMPER_TLS(curves)>("tls.curves",
                                     form::parsed_list(read_tls_name, kCurveForms, 1, kMostTexts),
                                     "Groups of the key exchange. Default: those of OpenSSL.");
#undef DAMPER_TLS
  s.alias("tls.certificate_chain", "tls.certificate_file");
  s.alias("tls.private_key", "tls.key_file");
  s.alias("tls.tls_minimum_protocol_version", "tls.min_version");
  s.alias("tls.tls_maximum_protocol_version", "tls.max_version");
  s.alias("tls.ecdh_curves", "tls.curves");
}

}  // namespace

Expected<Value, Error> read_certificates(const Tree& tree) {
  const Error refused{{}, tree.place, "certificates must be " + std::string(kCertificatesForms)};
  if (tree.kind != Tree::Kind::sequence || tree.items.empty() ||
      tree.items.size() >= http::ServerCertificates::kMost) {
    return unexpected(refused);
  }
  std::vector<std::string> all;
  for (const Tree& item : tree.items) {
    auto one = read_certificate(item, refused);
    if (!one) return unexpected(one.error());
    all.push_back(*std::move(one));
  }
  return Value(std::move(all));
}

void add_tls(Schema<ListenerConfig>& s) {
  s.key<DAMPER_FIELD(tls->identity.certificate_file)>(
      "tls.certificate_file", kTlsFile,
      "Certificate and its chain, in PEM. The files of tls are read again when they change.");
  s.key<DAMPER_FIELD(tls->identity.key_file)>("tls.key_file", kTlsFile,
                                              "Key of the certificate, in PEM.");
  s.key<certificates_of, set_certificates>(
      "tls.certificates",
      {.kind = config::Kind::custom,
       .accepted = kCertificatesForms,
       .read = read_certificates,
       .write = write_certificates},
      "More certificates, selected by server name (SNI): exact, else *.x for one label. "
      "server_names: instead of the certificate's DNS names. Without certificate_file the first is "
      "the default, for other names and for clients without SNI.");
  s.key<DAMPER_FIELD(tls->reject_unknown_names)>(
      "tls.reject_unknown_names", form::kBoolean,
      "Handshakes without SNI, or for a name that no certificate has, are refused with "
      "unrecognized_name.");
  s.key<DAMPER_FIELD(tls->client_ca_file)>(
      "tls.client_ca_file", kTlsFile,
      "CA of client certificates, in PEM; a certificate of another CA is refused.");
  s.key<DAMPER_FIELD(tls->require_client_certificate)>(
      "tls.require_client_certificate", form::kBoolean,
      "Only clients with a certificate are accepted (mTLS).");
  add_protocol<DAMPER_FIELD(tls->protocol)>(
      s,
      "Cipher suites of TLS 1.2 and 1.3, by the name of OpenSSL or IANA. Default of TLS 1.2: ECDHE "
      "with AES-GCM or ChaCha20-Poly1305.");
  s.key<DAMPER_FIELD(tls->session_timeout)>(
      "tls.session_timeout",
      form::duration(std::chrono::seconds(1), http::TlsServerOptions::kSessionTimeout.high)
          .with_off(0),
      "Time for which a client may resume a session with a ticket. off: tickets are not sent.");
  s.optional_section<DAMPER_FIELD(tls)>("tls", "TLS 1.2 and 1.3.");
  s.alias("tls.trusted_ca", "tls.client_ca_file");
}

void add_tls(Schema<ClusterConfig>& s) {
  s.key<DAMPER_FIELD(tls.ca_file)>("tls.ca_file", kTlsFile,
                                   "Trusted CAs, in PEM. Default: those of the system. The files "
                                   "of tls are read again when they change.");
  s.key<DAMPER_FIELD(tls.identity.certificate_file)>(
      "tls.certificate_file", kTlsFile, "Client certificate for upstreams that request one.");
  s.key<DAMPER_FIELD(tls.identity.key_file)>("tls.key_file", kTlsFile, "Key of the certificate.");
  s.key<DAMPER_FIELD(tls.server_name)>(
      "tls.sni", form::parsed(read_sni, kSniForms),
      "Name that is sent (SNI), and that the upstream's certificate must have. Default: the "
      "endpoint's host.");
  add_protocol<DAMPER_FIELD(tls.protocol)>(s,
                                           "Cipher suites of TLS 1.2 and 1.3, by the name of "
                                           "OpenSSL or IANA. Default: those of OpenSSL.");
  s.alias("tls.trusted_ca", "tls.ca_file");
}

}  // namespace damper::proxy
