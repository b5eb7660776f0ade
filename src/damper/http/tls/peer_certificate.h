#pragma once

#include <string>

struct ssl_st;

namespace damper::http {

// The certificate that the peer of a TLS connection has proved to own, as an element of Envoy's
// x-forwarded-client-cert:
// `Hash=HEX;Subject="CN=shop,O=Example";URI=spiffe://example/shop;DNS=...`. Empty if the peer has
// none, or none that was verified against a CA.
//
// Model: Hash is SHA-256 of the DER form; Subject as in RFC 2253; URI and DNS are those of the
// subject alternative name, at most kMostNames. A value with a character that would end it is in
// double quotes, with \" and \\ escaped; a name with anything but visible ASCII is left out.
// Cost: a hash and an allocation; call it once for a connection.
[[nodiscard]] std::string describe_peer_certificate(ssl_st* tls);

}  // namespace damper::http
