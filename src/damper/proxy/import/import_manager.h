#pragma once

#include "damper/proxy/import/envoy_import.h"
#include "damper/proxy/import/import_filters.h"

namespace damper::proxy {

// Reads an HttpConnectionManager: the keys of its listener, the access log and tracing of the file,
// and the terms of its routes. Its route_config is read apart: see read_virtual_hosts().
void read_connection_manager(const config::Tree& tree, PartDraft& listener, FilterTerms& terms,
                             EnvoyImport& file);

}  // namespace damper::proxy
