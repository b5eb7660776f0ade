#include "damper/base/check.h"
#include "damper/http/codec/connection.h"
#include "damper/http/codec/h1_connection.h"

namespace damper::http {
namespace {

// The client's end: requests out, one at a time, answers in.
class H1Client final : public H1Connection {
 public:
  H1Client(const ConnectionLimits& limits, ConnectionOwner& owner, Instant now)
      : H1Connection(limits, owner, now) {}

  [[nodiscard]] bool can_open() const noexcept override {
    return !over_ && !closing_ && user_ == nullptr && reading_ == Reading::nothing;
  }
  Stream& open(StreamUser& user, Instant now) override {
    DAMPER_CHECK(can_open());
    const CallClock::Call call(clock_, now);
    began_ = now;
    begin_stream(user);
    interim_ = 0;
    return *this;
  }

 protected:
  [[nodiscard]] std::size_t read_head(std::string_view bytes) override {
    if (!touched_) {  // No byte of the request is sent: surplus bytes of the previous answer.
      fail(CloseReason::refused);
      return 0;
    }
    if (!has_whole_head(bytes)) return 0;
    H1Head scanned;
    switch (scanned.scan_response(bytes, bounds())) {
      case H1Head::Result::need_more: on_partial_head(bytes); return 0;
      case H1Head::Result::refused: fail(scanned.reason()); return 0;
      case H1Head::Result::complete: break;
    }
    on_whole_head();
    const Head& head = scanned.head();
    if (head.status < 200 && head.status != 101) {
      if (++interim_ > kMostInterim) {
        fail(CloseReason::flood);
      } else if (is_passable_interim(head)) {
        user_->on_interim(head);
      }
      return scanned.size();
    }
    if (head.status == 101 && (!asks_upgrade_ || head.upgrade.empty())) {
      fail(CloseReason::malformed);
      return 0;
    }
    keep_alive_ = scanned.keeps_alive();
    const std::uint64_t length = head.content_length.value_or(0);
    const bool has_no_body = is_head_ || head.status == 204 || head.status == 304;
    if (!has_no_body && limits_.max_body_bytes != 0 && length > limits_.max_body_bytes) {
      fail(CloseReason::body_too_large);
      return 0;
    }
    if (head.status == 101 || (is_connect_ && head.status / 100 == 2)) {
      framing_out_ = H1Framing::tunnel;
      writing_ = Writing::body;
      begin_body(H1Framing::tunnel, 0);
    } else if (has_no_body || (head.content_length && length == 0)) {
      reading_ = Reading::ended;
    } else if (scanned.is_chunked()) {
      begin_body(H1Framing::chunked, 0);
    } else if (head.content_length) {
      begin_body(H1Framing::length, length);
    } else {
      begin_body(H1Framing::until_close, 0);
      keep_alive_ = false;
    }
    user_->on_head(head, reading_ == Reading::ended);
    return scanned.size();
  }
  // The stream ends with the answer, even if the request is not sent completely.
  [[nodiscard]] bool is_finished() const noexcept override {
    return is_tunnel() ? is_tunnel_over() : reading_ == Reading::ended;
  }
  void next_stream() override {
    const bool whole =
        writing_ == Writing::ended;  // A request cut short leaves no place for another.
    writing_ = Writing::nothing;
    reading_ = Reading::nothing;
    if (!whole) output_.clear();
    if (!whole || !keep_alive_ || closing_) {
      return end_well(closing_ ? closing_reason_ : CloseReason::finished);
    }
    begin_idle();
  }
  void refuse(int, CloseReason reason) override { fail(reason); }
  [[nodiscard]] CloseReason reason_of_end() const noexcept override {
    return touched_ ? CloseReason::reset : CloseReason::refused;
  }
  void on_cancel() override {
    if (is_tunnel() && writing_ == Writing::ended) return end_well(CloseReason::finished);
    if (touched_ || exposed_) {
      output_.clear();
      return end_well(CloseReason::cancelled);
    }
    if (writing_ != Writing::head)
      output_.clear();  // No byte of it was sent: the connection is still clean.
    writing_ = Writing::nothing;
    reading_ = Reading::nothing;
    begin_idle();
  }
  void send_head(const Head& head, bool end) override {
    if (is_over()) return;
    DAMPER_CHECK(writing_ == Writing::head);
    if (!is_writable_request(head)) return fail_later(CloseReason::cancelled);
    is_head_ = head.method == "HEAD";
    is_connect_ = head.method == "CONNECT";
    asks_upgrade_ = !head.upgrade.empty() && head.content_length.value_or(0) == 0;
    append_request(output_.bytes(), head, frame(head, end));
    reading_ = Reading::head;
    begin_sending(frame(head, end), end || is_connect_ || asks_upgrade_);
  }

 private:
  static constexpr int kMostInterim = 8;  // answers 1xx before the real one

  [[nodiscard]] H1Framed frame(const Head& head, bool end) const noexcept {
    H1Framed framed;
    framed.close = closing_;
    if (is_connect_ || asks_upgrade_) return framed;
    const bool usually_empty = is_head_ || head.method == "GET" || head.method == "DELETE" ||
                               head.method == "OPTIONS" || head.method == "TRACE";
    if (head.content_length || end) {
      framed.framing = H1Framing::length;
      framed.content_length = head.content_length.value_or(0);
      if (usually_empty && framed.content_length == 0) framed.content_length.reset();
    } else {
      framed.framing = H1Framing::chunked;
    }
    return framed;
  }

  bool is_head_ = false;
  bool is_connect_ = false;
  bool asks_upgrade_ = false;
  int interim_ = 0;
};

}  // namespace

std::unique_ptr<Connection> make_h1_client(const ConnectionLimits& limits, ConnectionOwner& owner,
                                           Instant now) {
  return std::make_unique<H1Client>(limits, owner, now);
}

}  // namespace damper::http
