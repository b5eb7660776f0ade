#include "damper/http/net/socket_connection.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "damper/http/net/ip_address.h"

namespace damper::http {
namespace {

constexpr Duration kLingerTime = std::chrono::seconds(1);
constexpr std::uint32_t kLingerBytes = std::size_t{1024} * 1024;
constexpr int kMostSends = 8;    // in a round
constexpr int kLastReads = 256;  // after a failed send

// Whether the connection is closed by RST.
bool is_abrupt(CloseReason reason) {
  switch (reason) {
    case CloseReason::reset:
    case CloseReason::write_timeout:
    case CloseReason::flood:
    case CloseReason::cancelled: return true;
    default: return false;
  }
}

// Without the zone of a link-local address, which means nothing elsewhere, and an IPv4 address
// inside of IPv6 (of a socket on [::]) as IPv4.
std::string plain_address(const std::string& text) {
  const std::string address = text.substr(0, text.find('%'));
  const std::optional<IpAddress> found = IpAddress::find(address);
  return found && found->unmapped() != *found ? found->unmapped().text() : address;
}

}  // namespace

SocketConnection::SocketConnection(Loop& loop, std::unique_ptr<Transport> transport, Owner& owner,
                                   Side side)
    : Loop::Timer(loop),
      Loop::TurnEnd(loop),
      transport_(std::move(transport)),
      owner_(owner),
      side_(side) {}

SocketConnection::~SocketConnection() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  if (codec_) codec_->abort(CloseReason::cancelled);
  transport_->close();
}

void SocketConnection::start(std::unique_ptr<Connection> codec, std::string_view first) {
  codec_ = std::move(codec);
  if (!first.empty()) codec_->receive(first, loop().now());
  ask_turn_end();
}

void SocketConnection::drain() {
  if (state_ != State::open) return;
  codec_->drain();
  ask_turn_end();
}

void SocketConnection::abort(CloseReason reason) {
  if (state_ == State::closed) return;
  if (!codec_->is_over()) codec_->abort(reason);
  state_ = State::broken;
  ask_turn_end();
}

std::string peer_address(const Transport& transport) {
  std::string peer = transport.peer();
  if (peer == kUnixPeer) return peer;
  peer.resize(std::min(peer.size(), peer.rfind(':')));
  if (peer.starts_with('[') && peer.ends_with(']')) {
    peer.pop_back();
    peer.erase(0, 1);
  }
  return plain_address(peer);
}

// Cached: a proxy adds it to every request.
Peer SocketConnection::peer() {
  if (!std::exchange(knows_peer_, true)) {
    if (peer_.empty()) {
      peer_ = peer_address(*transport_);
    } else {
      peer_ = plain_address(peer_);  // Of the PROXY protocol.
    }
    if (transport_->is_secure()) certificate_ = transport_->peer_certificate();
  }
  return {.address = peer_, .secure = transport_->is_secure(), .certificate = certificate_};
}

void SocketConnection::on_readable() {
  reading_ = false;
  ask_turn_end();
  if (state_ == State::lingering) return;
  if (state_ != State::open || (!input_ended_ && !codec_->wants_input())) return;
  const std::span<char> scratch = loop().scratch();
  const Transport::IoResult result = transport_->recv(scratch);
  switch (result.status) {
    case Transport::Status::ok:
      last_received_ = loop().now();
      codec_->receive({scratch.data(), result.bytes}, last_received_);
      break;
    case Transport::Status::again: break;
    case Transport::Status::end:
      if (!std::exchange(input_ended_, true)) codec_->on_end_of_input(loop().now());
      break;
    case Transport::Status::failed: abort(CloseReason::reset); break;
  }
}

void SocketConnection::on_writable() {
  writing_ = false;
  ask_turn_end();
}

void SocketConnection::on_timer(Instant now) {
  if (state_ == State::lingering) {
    state_ = State::broken;
  } else {
    codec_->on_timer(now);
  }
  ask_turn_end();
}

void SocketConnection::on_turn_end() {
  if (state_ == State::open) flush();
  if (state_ == State::open) {
    if (codec_->is_over() && (codec_->output().empty() || is_abrupt(codec_->reason()))) {
      if (!should_linger()) {
        return close(is_abrupt(codec_->reason()) || codec_->has_ended_output());
      }
      state_ = State::lingering;
      transport_->shut_down_send();
      arm(add(loop().now(), kLingerTime));
    } else {
      if (codec_->has_ended_output() && !output_ended_ && codec_->output().empty()) {
        output_ended_ = true;
        transport_->shut_down_send();
      }
      arm(codec_->deadline());
    }
  } else if (state_ == State::lingering && !reading_) {
    if (!discard()) return close(false);
  }
  if (state_ == State::broken) return close(true);

  const bool reads = input_ended_ ? !transport_->is_secure()  // To detect a reset.
                                  : state_ == State::lingering || codec_->wants_input();
  if (!reading_ && reads) {
    reading_ = true;
    transport_->wait_readable(*this);
  }
  if (state_ == State::open) owner_.on_turned(*this);
}

// Sends output until the kernel takes no more.
void SocketConnection::flush() {
  for (int sends = 0; !writing_; ++sends) {
    const std::string_view output = codec_->output();
    if (output.empty()) return;
    if (sends == kMostSends) return ask_turn_end();  // Not to starve other connections.
    const Transport::IoResult result = transport_->send(output);
    switch (result.status) {
      case Transport::Status::ok:
        codec_->sent(result.bytes, loop().now());
        if (state_ != State::open) return;
        break;
      case Transport::Status::again: writing_ = true; return transport_->wait_writable(*this);
      case Transport::Status::end:
      case Transport::Status::failed: return on_send_failed();
    }
  }
}

void SocketConnection::on_send_failed() {
  const std::span<char> scratch = loop().scratch();
  for (int reads = 0; side_ == Side::client && reads < kLastReads; ++reads) {
    if (input_ended_ || !codec_->wants_input()) break;
    const Transport::IoResult result = transport_->recv(scratch);
    if (result.status != Transport::Status::ok) break;
    codec_->receive({scratch.data(), result.bytes}, loop().now());
  }
  abort(CloseReason::reset);
}

bool SocketConnection::should_linger() const noexcept {
  if (input_ended_ || (side_ == Side::client && !codec_->has_ended_output())) return false;
  const CloseReason reason = codec_->reason();
  return !is_abrupt(reason) && reason != CloseReason::idle_timeout &&
         reason != CloseReason::head_timeout && reason != CloseReason::body_timeout;
}

// Reads and discards. False at EOF, after a failure or after kLingerBytes.
bool SocketConnection::discard() {
  const std::span<char> scratch = loop().scratch();
  const Transport::IoResult result = transport_->recv(scratch);
  if (result.status == Transport::Status::again) return true;
  lingered_bytes_ += static_cast<std::uint32_t>(result.bytes);
  return result.status == Transport::Status::ok && lingered_bytes_ <= kLingerBytes;
}

void SocketConnection::close(bool reset) {
  state_ = State::closed;
  cancel();
  transport_->close(reset);
  owner_.on_closed(*this, codec_->reason());  // It may destroy *this.
}

}  // namespace damper::http
