#pragma once

#include <system_error>

#include "damper/decide/outcome.h"

namespace damper::decide {

// The outcome that an error of the operating system stands for: an errno as std::error_code of the
// generic or the system category, or of any category that maps its errors to generic ones.
//
//   no error                      success
//   ECONNREFUSED, EHOSTUNREACH,   unavailable  no connection was made, so nothing was sent
//   ENETUNREACH, EHOSTDOWN,
//   ENETDOWN
//   EADDRNOTAVAIL                 unavailable  no local port left to connect from: nothing was sent
//   ETIMEDOUT                     timeout      of a connect or of a read: errno does not tell
//   which,
//                                              so the request may have arrived
//   ECONNRESET, ECONNABORTED,     transient    the connection ended; part of the request may have
//   ENETRESET, EPIPE                           been sent
//   EAGAIN (EWOULDBLOCK), EINTR   transient    "not now"; EAGAIN is also what a socket with
//                                              SO_RCVTIMEO gives, so the request may have arrived
//   EMFILE, ENFILE, ENOBUFS,      overload     this machine is out of something, and another
//   ENOMEM                                     attempt takes more of it
//   ECANCELED                     cancelled    a timeout to the runtimes, unless asked for
//   all others                    permanent    a bad address, a missing permission, a protocol
//                                              error; and the codes of other categories
//
// Codes of Asio and Beast, with Boost or without, by the name of their category:
//
//   asio.misc: eof                transient    the connection was closed on us
//   asio.ssl.stream: truncated    transient
//   asio.netdb: host_not_found,   unavailable  without an address nothing was sent
//   host_not_found_try_again
//   boost.beast: timeout          timeout
//   boost.beast.http:             transient    the connection was closed on us
//   end_of_stream, partial_message
//
// Cost: no allocation.
[[nodiscard]] Outcome classify(const std::error_code& error) noexcept;

}  // namespace damper::decide
