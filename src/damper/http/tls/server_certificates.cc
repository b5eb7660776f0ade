#include "damper/http/tls/server_certificates.h"

#include <algorithm>
#include <utility>

#include "damper/http/codec/chars.h"

namespace damper::http {

Expected<ServerCertificates> ServerCertificates::load(
    const std::vector<TlsServerCertificate>& certificates) {
  ServerCertificates out;
  if (certificates.size() > kMost) {
    return unexpected("there are " + std::to_string(certificates.size()) +
                      " certificates; there must be at most " + std::to_string(kMost));
  }
  for (const TlsServerCertificate& one : certificates) {
    auto loaded = load_identity(one.identity);
    if (!loaded) return unexpected(loaded.error());
    CertificateFacts facts{
        .file = one.identity.certificate_file, .not_after = loaded->not_after(), .names = {}};
    if (one.server_names.empty()) facts.names = loaded->names();
    for (const std::string& name : one.server_names) facts.names.push_back(lowered(name));
    out.all_.push_back(*std::move(loaded));
    for (const std::string& name : facts.names) out.add_name(name, out.all_.size() - 1);
    out.facts_.push_back(std::move(facts));
  }
  return out;
}

void ServerCertificates::add_name(const std::string& name, std::size_t index) {
  std::vector<std::size_t>& all = by_name_[name];
  const auto type = [this](std::size_t one) { return EVP_PKEY_get_base_id(all_[one].key.get()); };
  const bool has_type = std::any_of(all.begin(), all.end(),
                                    [&](std::size_t other) { return type(other) == type(index); });
  if (!has_type) all.push_back(index);
}

const std::vector<std::size_t>& ServerCertificates::find(std::string_view server_name) const {
  static const std::vector<std::size_t> kNone;
  const std::string name = lowered(server_name);
  if (const auto exact = by_name_.find(name); exact != by_name_.end()) return exact->second;
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos || dot == 0) return kNone;
  const auto wildcard = by_name_.find("*" + name.substr(dot));
  return wildcard == by_name_.end() ? kNone : wildcard->second;
}

}  // namespace damper::http
