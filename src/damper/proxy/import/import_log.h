#pragma once

#include "damper/proxy/import/envoy_import.h"

namespace damper::proxy {

// Reads the access logs of a connection manager: the first one is the proxy's.
void read_access_logs(std::span<const config::Tree> logs, PartDraft& proxy,
                      policy::ImportNotes& notes);

// Reads the tracing of a connection manager, if OpenTelemetry is its provider.
void read_tracing(const config::Tree& tree, PartDraft& proxy, policy::ImportNotes& notes);

}  // namespace damper::proxy
