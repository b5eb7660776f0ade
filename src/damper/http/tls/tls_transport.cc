#include "damper/http/tls/tls_transport.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <limits>

#include "damper/base/check.h"
#include "damper/http/tls/openssl_types.h"
#include "damper/http/tls/peer_certificate.h"
#include "damper/http/tls/session_cache.h"

namespace damper::http {
namespace {

// OpenSSL's own BIO for sockets raises SIGPIPE: this one is a TcpTransport.
TcpTransport& socket_of(BIO* bio) { return *static_cast<TcpTransport*>(BIO_get_data(bio)); }

int bio_result(BIO* bio, const Transport::IoResult& result, int retry, int what) {
  BIO_clear_retry_flags(bio);
  switch (result.status) {
    case Transport::Status::ok: return static_cast<int>(result.bytes);
    case Transport::Status::again: BIO_set_flags(bio, retry | what); return -1;
    case Transport::Status::end: return 0;
    case Transport::Status::failed: return -1;
  }
  return -1;
}

int read_bio(BIO* bio, char* into, int size) {
  return bio_result(bio, socket_of(bio).TcpTransport::recv({into, static_cast<std::size_t>(size)}),
                    BIO_FLAGS_SHOULD_RETRY, BIO_FLAGS_READ);
}

int write_bio(BIO* bio, const char* from, int size) {
  return bio_result(bio, socket_of(bio).TcpTransport::send({from, static_cast<std::size_t>(size)}),
                    BIO_FLAGS_SHOULD_RETRY, BIO_FLAGS_WRITE);
}

long control_bio(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* socket_method() {
  static BIO_METHOD* const kMethod = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "ready socket");
    DAMPER_CHECK(made != nullptr);
    BIO_meth_set_read(made, read_bio);
    BIO_meth_set_write(made, write_bio);
    BIO_meth_set_ctrl(made, control_bio);
    return made;
  }();
  return kMethod;
}

int bounded(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
}

}  // namespace

void TlsTransport::Free::operator()(ssl_st* tls) const noexcept { SSL_free(tls); }

TlsTransport::TlsTransport(Loop& loop, int fd, const TlsSettings& settings)
    : TcpTransport(loop, fd), tls_(SSL_new(settings.native())) {
  BIO* const bio = BIO_new(socket_method());
  DAMPER_CHECK(tls_ != nullptr && bio != nullptr);  // No memory.
  BIO_set_data(bio, static_cast<TcpTransport*>(this));
  BIO_set_init(bio, 1);
  SSL_set_bio(tls_.get(), bio, bio);
  SSL_set_accept_state(tls_.get());
}

TlsTransport::TlsTransport(Loop& loop, int fd, const TlsSettings& settings, const std::string& host)
    : TlsTransport(loop, fd, settings) {
  SSL_set_connect_state(tls_.get());
  const std::string& name = settings.server_name().empty() ? host : settings.server_name();
  boost::system::error_code is_name;
  boost::asio::ip::make_address(name, is_name);
  bool set = false;
  if (!is_name) {
    set = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls_.get()), name.c_str()) == 1;
  } else {
    SSL_set_hostflags(tls_.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    // OpenSSL would take an empty name for `do not verify the name`.
    set = !name.empty() && SSL_set1_host(tls_.get(), name.c_str()) == 1 &&
          SSL_ctrl(tls_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                   const_cast<char*>(name.c_str())) == 1;
  }
  if (!set) {
    usable_ = false;
    error_ = "no name to verify";
  }
  sessions_ = settings.sessions();
  if (sessions_ == nullptr) return;
  session_peer_ = name + ' ' + peer();
  SSL_set_app_data(tls_.get(), this);
  const SessionPointer session = sessions_->take(session_peer_);
  if (session != nullptr) (void)SSL_set_session(tls_.get(), session.get());
}

bool TlsTransport::try_keep_session(ssl_st* tls, ssl_session_st* session) {
  auto* const self = static_cast<TlsTransport*>(SSL_get_app_data(tls));
  if (self == nullptr || self->sessions_ == nullptr || SSL_SESSION_is_resumable(session) != 1) {
    return false;
  }
  self->sessions_->put(self->session_peer_, SessionPointer(session));
  return true;
}

bool TlsTransport::is_resumed() const noexcept { return SSL_session_reused(tls_.get()) == 1; }

TlsTransport::~TlsTransport() { close(false); }

Transport::Status TlsTransport::status_of(int result, Direction& waits_for) {
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      is_starved_ = true;
      waits_for = Direction::read;
      return Status::again;
    case SSL_ERROR_WANT_WRITE: waits_for = Direction::write; return Status::again;
    case SSL_ERROR_ZERO_RETURN: return Status::end;
    default: break;
  }
  usable_ = false;
  const long verified = SSL_get_verify_result(tls_.get());
  const char* reason = ERR_reason_error_string(ERR_peek_error());
  if (verified != X509_V_OK) {
    error_ = X509_verify_cert_error_string(verified);
  } else {
    error_ = reason != nullptr ? reason : "connection lost";
  }
  ERR_clear_error();
  return Status::failed;
}

Transport::Status TlsTransport::try_handshake() {
  if (!usable_) return Status::failed;
  if (SSL_is_init_finished(tls_.get()) == 1) return Status::ok;
  ERR_clear_error();
  const int result = SSL_do_handshake(tls_.get());
  if (result == 1) {
    to_read_ = Direction::read;
    is_starved_ = false;
    return Status::ok;
  }
  const Status status = status_of(result, to_read_);
  if (status == Status::again) return status;
  return BIO_number_read(SSL_get_rbio(tls_.get())) == 0 ? Status::end : Status::failed;
}

Transport::IoResult TlsTransport::recv(std::span<char> into) {
  if (!usable_) return {Status::failed, 0};
  ERR_clear_error();
  const int got = SSL_read(tls_.get(), into.data(), bounded(into.size()));
  if (got > 0) {
    to_read_ = Direction::read;
    is_starved_ = false;
    return {Status::ok, static_cast<std::size_t>(got)};
  }
  return {status_of(got, to_read_), 0};
}

Transport::IoResult TlsTransport::send(std::string_view bytes) {
  if (!usable_) return {Status::failed, 0};
  if (bytes.empty()) return {Status::ok, 0};
  ERR_clear_error();
  const int put = SSL_write(tls_.get(), bytes.data(), bounded(bytes.size()));
  if (put > 0) {
    to_write_ = Direction::write;
    return {Status::ok, static_cast<std::size_t>(put)};
  }
  return {status_of(put, to_write_), 0};
}

void TlsTransport::wait_readable(Waiter& waiter) {
  if (to_read_ == Direction::read && !is_starved_ && SSL_has_pending(tls_.get()) == 1) {
    wait(Direction::read, Direction::read, waiter, true);  // OpenSSL has buffered it.
  } else {
    wait(to_read_, Direction::read, waiter);
  }
}

void TlsTransport::wait_writable(Waiter& waiter) { wait(to_write_, Direction::write, waiter); }

void TlsTransport::shut_down_send() noexcept {
  if (usable_ && fd() >= 0 && SSL_is_init_finished(tls_.get()) == 1) {
    ERR_clear_error();
    (void)SSL_shutdown(tls_.get());  // close_notify, if there is room for it.
    ERR_clear_error();
  }
  TcpTransport::shut_down_send();
}

void TlsTransport::close(bool reset) noexcept {
  if (fd() < 0) return;
  if (!reset) shut_down_send();
  usable_ = false;
  TcpTransport::close(reset);
}

std::string TlsTransport::peer_certificate() const { return describe_peer_certificate(tls_.get()); }

Protocol TlsTransport::protocol() const noexcept {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(tls_.get(), &name, &size);
  const std::string_view selected(reinterpret_cast<const char*>(name), size);
  if (selected == "h2") return Protocol::h2;
  return selected.empty() ? Protocol::unknown : Protocol::h1;
}

}  // namespace damper::http
