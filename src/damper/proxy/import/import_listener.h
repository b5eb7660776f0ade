#pragma once

#include <span>

#include "damper/proxy/import/envoy_import.h"

namespace damper::proxy {

// Reads the listeners of an Envoy file: their parts of the result, and the routes.
//
// Model: a listener of Envoy has routes of its own; here one list of routes serves all listeners.
// So the first listener with a route to a cluster is read, and those with the same routes; another
// one is left out, with a note, because its clients would reach routes that are not its own. The
// filter chains of a listener become one: TLS chains by server name are certificates, and a
// strictness of one chain (mTLS, a version of TLS) is that of all.
// Invariants:
//   (1) A listener with TLS there has TLS here.
//   (2) A filter chain with a condition that has no equivalent, or without an HTTP connection
//       manager whose routes are in the file, is left out with a note.
void read_listeners(std::span<const config::Tree> listeners, EnvoyImport& file);

}  // namespace damper::proxy
