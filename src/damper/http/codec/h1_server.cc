#include "damper/base/check.h"
#include "damper/http/codec/connection.h"
#include "damper/http/codec/h1_connection.h"

namespace damper::http {
namespace {

// The server's end: requests in, one at a time, answers out.
class H1Server final : public H1Connection {
 public:
  H1Server(const ConnectionLimits& limits, ConnectionOwner& owner, RequestSink& sink, Instant now)
      : H1Connection(limits, owner, now), sink_(sink) {
    reading_ = Reading::head;
  }

  [[nodiscard]] bool can_open() const noexcept override { return false; }
  Stream& open(StreamUser&, Instant) override {
    DAMPER_CHECK(can_open());
    return *this;
  }

 protected:
  [[nodiscard]] std::size_t read_head(std::string_view bytes) override {
    if (!has_whole_head(bytes)) return 0;
    H1Head scanned;
    switch (scanned.scan_request(bytes, bounds())) {
      case H1Head::Result::need_more: on_partial_head(bytes); return 0;
      case H1Head::Result::refused: refuse(scanned.status(), scanned.reason()); return 0;
      case H1Head::Result::complete: break;
    }
    on_whole_head();
    http_1_0_ = scanned.is_http_1_0();
    const Head& head = scanned.head();
    const std::uint64_t length = head.content_length.value_or(0);
    if (limits_.max_body_bytes != 0 && length > limits_.max_body_bytes) {
      refuse(413, CloseReason::body_too_large);
      return 0;
    }
    is_head_ = head.method == "HEAD";
    is_connect_ = head.method == "CONNECT";
    asks_upgrade_ = !head.upgrade.empty();
    const bool has_body = scanned.is_chunked() || length > 0;
    awaits_continue_ = scanned.expects_continue() && has_body && bytes.size() == scanned.size();

    began_ = input_since_;  // Set before on_request(): the sink may call began().
    begin_stream(sink_.on_request(*this));
    keep_alive_ = scanned.keeps_alive();
    if (has_body) {
      begin_body(scanned.is_chunked() ? H1Framing::chunked : H1Framing::length, length);
    } else {
      reading_ = Reading::ended;
    }
    user_->on_head(head, !has_body);
    if (awaits_continue_ && user_ != nullptr && writing_ == Writing::head) {
      output_.bytes() += "HTTP/1.1 100 Continue\r\n\r\n";
      awaits_continue_ = false;
      notify();
    }
    return scanned.size();
  }
  // The stream ends with the answer; the rest of the request is discarded. A tunnel has two ends.
  [[nodiscard]] bool is_finished() const noexcept override {
    return is_tunnel() ? is_tunnel_over() : writing_ == Writing::ended;
  }
  void next_stream() override {
    writing_ = Writing::nothing;
    if (!keep_alive_ || closing_)
      return end_well(closing_ ? closing_reason_ : CloseReason::finished);
    if (reading_ == Reading::body) {
      if (!can_discard()) end_well(CloseReason::finished);
      return;
    }
    reading_ = Reading::head;
    begin_idle();
  }
  void refuse(int status, CloseReason reason) override {
    const bool discarding = user_ == nullptr && reading_ == Reading::body;
    const bool answered = discarding || writing_ == Writing::body || writing_ == Writing::ended;
    if (!answered && output_.size() < limits_.max_output_bytes) {
      append_refusal(output_.bytes(), status);
      notify();
    }
    if (user_ == nullptr && !discarding) {
      sink_.on_refused({.peer = peer(),
                        .status = answered ? 0 : status,
                        .reason = reason,
                        .began = input_since_,
                        .now = clock_.now()});
    }
    fail(reason);
  }
  [[nodiscard]] CloseReason reason_of_end() const noexcept override { return CloseReason::reset; }
  void on_cancel() override {
    if (is_tunnel() && writing_ == Writing::ended) return end_well(CloseReason::finished);
    if (writing_ == Writing::ended) return next_stream();
    if (writing_ == Writing::body) output_.clear();  // Not to be taken for a complete answer.
    end_well(CloseReason::cancelled);
  }
  [[nodiscard]] Peer peer() override {
    Peer peer = H1Connection::peer();
    if (http_1_0_) peer.protocol = "HTTP/1.0";
    return peer;
  }
  void send_head(const Head& head, bool end) override {
    if (is_over()) return;
    DAMPER_CHECK(writing_ == Writing::head);
    DAMPER_CHECK(head.status == 101 || (head.status >= 200 && head.status <= 599));
    if (head.status == 101 && !asks_upgrade_) return fail_later(CloseReason::cancelled);
    const H1Framed framed = frame(head, end);
    append_response(output_.bytes(), head, framed);
    if (framed.framing == H1Framing::tunnel) begin_body(H1Framing::tunnel, 0);
    begin_sending(framed, end);
  }
  void send_interim(const Head& head) override {
    if (is_over() || writing_ != Writing::head || http_1_0_ || !is_passable_interim(head)) return;
    if (output_.size() >= limits_.max_output_bytes) return;
    append_response(output_.bytes(), {.status = head.status, .fields = head.fields}, {});
    notify();
  }

 private:
  // Whether the rest of an answered request is read and discarded, to keep the connection alive.
  [[nodiscard]] bool can_discard() const noexcept {
    return !awaits_continue_ && body_left_ <= limits_.window_bytes;
  }
  [[nodiscard]] H1Framed frame(const Head& head, bool end) noexcept {
    H1Framed framed;
    if (head.status == 101 || (is_connect_ && head.status / 100 == 2)) {
      framed.framing = H1Framing::tunnel;
      return framed;
    }
    if (is_connect_) keep_alive_ = false;  // Further input may be meant for the tunnel.
    if (is_head_ || head.status == 204 || head.status == 304) {
      if (head.status != 204) framed.content_length = head.content_length;
    } else if (head.content_length || end) {
      framed.framing = H1Framing::length;
      framed.content_length = head.content_length.value_or(0);
    } else if (http_1_0_) {
      framed.framing = H1Framing::until_close;
      keep_alive_ = false;
    } else {
      framed.framing = H1Framing::chunked;
    }
    // A short answer is sent before the rest of the request has arrived.
    const bool is_short = end || head.content_length.value_or(kLookaheadBytes) < kLookaheadBytes;
    if (is_short && reading_ == Reading::body && !can_discard()) keep_alive_ = false;
    framed.close = !keep_alive_ || closing_;
    framed.keep_alive = http_1_0_;
    return framed;
  }

  RequestSink& sink_;
  bool http_1_0_ = false;
  bool is_head_ = false;
  bool is_connect_ = false;
  bool asks_upgrade_ = false;
  bool awaits_continue_ = false;  // The client waits for a 100 (Continue) that was not sent.
};

}  // namespace

std::unique_ptr<Connection> make_h1_server(const ConnectionLimits& limits, ConnectionOwner& owner,
                                           RequestSink& sink, Instant now) {
  return std::make_unique<H1Server>(limits, owner, sink, now);
}

}  // namespace damper::http
