#pragma once

#include <memory>

#include "damper/http/tls/openssl_types.h"
#include "damper/http/tls/server_certificates.h"
#include "damper/http/tls/ticket_keys.h"

namespace damper::http {

// What the callbacks of a server's SSL_CTX use. The SSL_CTX owns it: connections that began before
// a reload keep both.
struct TlsServerState {
  ServerCertificates certificates;
  std::shared_ptr<TicketKeys> keys;
  bool reject_unknown_names = false;
};

// Gives the state to the settings and registers the callbacks: selection of the certificate by
// server name, refusal of unknown names, encryption of tickets. False: no memory.
[[nodiscard]] bool try_attach(std::unique_ptr<TlsServerState> state, SSL_CTX* settings);

}  // namespace damper::http
