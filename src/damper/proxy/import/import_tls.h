#pragma once

#include <string>
#include <vector>

#include "damper/proxy/import/envoy_import.h"

namespace damper::proxy {

// A certificate of a listener, and the names for which its filter chain selects it.
struct ImportedCertificate {
  std::string certificate_file;
  std::string key_file;
  std::vector<std::string> server_names;  // empty: those of the certificate
  config::SourceLocation place;
};

// Reads the DownstreamTlsContext of a filter chain with these server names. Returns its
// certificates; the rest is set in the draft.
//
// Invariants:
//   (1) A listener with TLS there has TLS here. A certificate that is not in a file has the name of
//       one that does not exist: the proxy does not start until it is written.
[[nodiscard]] std::vector<ImportedCertificate> read_downstream_tls(
    const config::Tree& tree, const std::vector<std::string>& server_names, PartDraft& listener,
    const EnvoyImport& file);

// Sets the certificates of all filter chains of a listener. With `refuses_others` no chain takes
// other names.
void set_certificates(const std::vector<ImportedCertificate>& certificates, bool refuses_others,
                      PartDraft& listener);

// Reads the UpstreamTlsContext of a cluster.
void read_upstream_tls(const config::Tree& tree, PartDraft& cluster, const EnvoyImport& file);

// The transport_socket's typed_config if it is of the type; null, with a note, if it is another
// one that is not plain TCP. `is_unknown` is set then.
[[nodiscard]] const config::Tree* tls_of(const config::Tree& transport_socket,
                                         std::string_view type, bool& is_unknown,
                                         policy::ImportNotes& notes);

}  // namespace damper::proxy
