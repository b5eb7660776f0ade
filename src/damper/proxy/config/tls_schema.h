#pragma once

#include <string_view>

#include "damper/config/schema.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {

// The keys of `tls`, of a listener and of a cluster.
void add_tls(config::Schema<ListenerConfig>& schema);
void add_tls(config::Schema<ClusterConfig>& schema);

// [{certificate_file: FILE, key_file: FILE, server_names: [NAME, ...]}], held as one text each:
// certificate, key and names, by lines. An error without a file.
inline constexpr std::string_view kCertificatesForms =
    "a list of {certificate_file: FILE, key_file: FILE}, optionally with server_names: [NAME]";
[[nodiscard]] Expected<config::Value, config::Error> read_certificates(const config::Tree& tree);

}  // namespace damper::proxy
