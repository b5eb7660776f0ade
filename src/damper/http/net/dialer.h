#ifndef DAMPER_HTTP_NET_DIALER_H_
#define DAMPER_HTTP_NET_DIALER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/instant.h"
#include "damper/http/codec/close_reason.h"
#include "damper/http/net/loop.h"
#include "damper/http/net/tls_settings.h"
#include "damper/http/net/transport.h"

namespace damper::http {

// Finds the addresses of a name. Replaced in tests, and by those who check addresses.
class Resolver {
 public:
  virtual ~Resolver() = default;
  // Addresses in text, best first; none: there is no such name. `done` is called once, from the
  // loop, perhaps before resolve() returns; a caller that lost interest ignores it.
  using Done = std::function<void(std::vector<std::string> addresses)>;
  virtual void resolve(const std::string& host, Done done) = 0;
};
// The system's, on a thread of its own; one lookup of a name at a time (see SharedResolver).
[[nodiscard]] std::unique_ptr<Resolver> make_system_resolver(Loop& loop);

struct DialerOptions {
  // From the name to the end of the TLS handshake; 1 ms to 5 min. Short, and apart from the
  // request's own time: who cannot connect within it goes elsewhere.
  Duration connect_timeout = std::chrono::seconds(3);
  // How long an address is alone before the next one is tried beside it (RFC 8305, section 5:
  // 250 ms). 10 ms to 2 s.
  Duration stagger = std::chrono::milliseconds(250);
  std::size_t max_addresses = 8;  // 1 to 64: those after them are not tried

  friend bool operator==(const DialerOptions&, const DialerOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const DialerOptions& options);

// The order in which addresses are tried: families alternate, from the first one's on, and each
// keeps its order (RFC 8305, section 4). At most `most`.
[[nodiscard]] std::vector<std::string> interleave(const std::vector<std::string>& addresses,
                                                  std::size_t most);

// A Dialer makes connections: name to addresses, addresses to the first that answers, and TLS on
// top where it is asked for.
//
// Model: happy eyeballs (RFC 8305). The addresses are tried in order, the next one when the one
// before has failed or is alone for `stagger`; the first that connects wins and the others are
// closed. An address in the place of a name is not resolved.
// Invariants:
//   (1) Each dial ends once: a transport, or why there is none; by connect_timeout. One that was
//       cancelled (its Dial destroyed) is heard of no more, and holds no socket.
//   (2) A failed dial has sent no byte of a request.
// Thread safety: none; all on the loop's thread.
class Dialer {
 public:
  struct Result {
    std::unique_ptr<Transport> transport;        // nullptr: there is none
    CloseReason reason = CloseReason::finished;  // why there is none
  };
  using Done = std::function<void(Result)>;
  // A connection that is being made. Destroy it to give it up.
  class Dial {
   public:
    virtual ~Dial() = default;
  };

  // REQUIRES: !find_error(options). What is referred to outlives the dialer; without a resolver it
  // has the system's.
  Dialer(Loop& loop, const DialerOptions& options, Resolver* resolver = nullptr);
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;
  ~Dialer();

  // `done` comes later, never from within dial(). `tls`: nullptr for plain TCP; it outlives the
  // dial. `address`: of the host, if it is known; then it is not looked up, and TLS still verifies
  // the host's name.
  [[nodiscard]] std::unique_ptr<Dial> dial(const std::string& host, std::uint16_t port,
                                           const TlsSettings* tls, Done done,
                                           const std::string& address = {});

  [[nodiscard]] Loop& loop() const noexcept { return loop_; }

 private:
  Loop& loop_;
  const DialerOptions options_;
  std::unique_ptr<Resolver> own_resolver_;  // made when it is first needed
  Resolver* resolver_;
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_NET_DIALER_H_
