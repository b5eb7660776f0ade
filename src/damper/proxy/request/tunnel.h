#pragma once

#include <cstdint>
#include <optional>

#include "damper/http/codec/stream.h"
#include "damper/proxy/request/kept_message.h"
#include "damper/proxy/request/upstream_attempt.h"

namespace damper::proxy {

// A Tunnel forwards bytes of another protocol between a client and a replica, after a 101 or a
// successful CONNECT.
//
// Model: each direction is half-closed by itself: an end is forwarded after the bytes before it,
// and the other direction stays open. A reset or an idle timeout of one side resets the other,
// after the bytes of a direction that had ended already. A tunnel has no deadline.
//   open            the direction downstream has not ended
//   ended           the replica's end was sent to the client
//   draining_down   the replica's stream is gone; its bytes up to its end are still sent
//   draining_up     the client's stream is gone; its bytes up to its end are still sent
// Thread safety: none; one loop. The body is the pipe from the client to the replica.
class Tunnel {
 public:
  // Upstream and body outlive it.
  Tunnel(UpstreamAttempt& upstream, KeptBody& body) noexcept : upstream_(upstream), body_(body) {
    body_.stop_keeping();
    upstream_.begin_tunnel();
  }

  // Sends what the replica sent, and its end. With a reason: the client's stream is to be reset.
  [[nodiscard]] std::optional<http::CloseReason> flush(http::Stream& client,
                                                       std::uint64_t& bytes_out) {
    if (state_ == State::ended) return std::nullopt;
    bytes_out += upstream_.drain_to(client);
    if (!upstream_.gathered().empty() || !upstream_.is_whole()) return std::nullopt;
    const bool broken = state_ == State::draining_down;
    state_ = State::ended;
    (void)client.send_data({}, true);
    return broken ? std::optional(broken_) : std::nullopt;
  }
  // The replica's stream is gone. With a reason: the client's stream is to be reset.
  [[nodiscard]] std::optional<http::CloseReason> on_upstream_over(http::CloseReason reason,
                                                                  http::Stream& client,
                                                                  std::uint64_t& bytes_out) {
    if (reason == http::CloseReason::finished) return std::nullopt;
    if (!upstream_.is_whole() || state_ == State::ended) return reason;
    state_ = State::draining_down;
    broken_ = reason;
    return flush(client, bytes_out);
  }
  // The client's stream is gone. Whether its bytes up to its end are still sent to the replica.
  [[nodiscard]] bool try_drain_up() noexcept {
    if (!body_.has_ended() || !upstream_.takes_body()) return false;
    state_ = State::draining_up;
    return true;
  }

  [[nodiscard]] bool has_ended() const noexcept { return state_ == State::ended; }
  [[nodiscard]] bool is_drained() const noexcept {
    return state_ == State::draining_up && upstream_.has_stream() && !upstream_.takes_body();
  }

 private:
  enum class State : std::uint8_t { open, ended, draining_down, draining_up };

  UpstreamAttempt& upstream_;
  KeptBody& body_;
  State state_ = State::open;
  http::CloseReason broken_ = http::CloseReason::finished;  // if draining_down
};

}  // namespace damper::proxy
