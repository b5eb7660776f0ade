#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string_view>

#include "damper/base/check.h"
#include "damper/http/client/http_result.h"
#include "damper/http/client/pool.h"
#include "damper/http/codec/message.h"
#include "damper/http/net/egress_guard.h"

namespace damper::http {

// A RoundTrip writes one complete request to a pool and reads the complete response.
//
// Model: the head is written when there is a stream, with the fields that the derived class returns
// then: a remaining time is current when it is written.
// Invariants, beside those of PoolRequest:
//   (1) on_done() gets `finished` if and only if the response is complete.
//   (2) A response has at most max_body bytes of body.
// Thread safety: none. Cost: no allocation except for the response.
class RoundTrip : private PoolRequest {
 public:
  // What a response with a longer body ends with: CloseReason::body_too_large, and...
  enum class Excess : std::uint8_t {
    refuse,  // as soon as that is known: nothing is read if its length was announced
    cut,     // the first max_body bytes in response()
  };

  // REQUIRES: it is not under way. The pool and the request outlive it. on_done() may be called
  // from within.
  void start(Pool& pool, const Request& request, std::size_t max_body,
             Excess excess = Excess::refuse) {
    DAMPER_CHECK(!is_under_way());
    request_ = &request;
    max_body_ = max_body;
    excess_ = excess;
    open(pool);
  }
  using PoolRequest::cancel;
  using PoolRequest::is_answered;
  using PoolRequest::is_under_way;

  // Why there is no whole response. After a refusal of the dialer's guard, Failure::exception is an
  // EgressRefused.
  [[nodiscard]] Failure failure(CloseReason reason) const {
    Failure failure = failure_of(reason, is_answered());
    if (reason == CloseReason::address_refused) {
      failure.exception = std::make_exception_ptr(EgressRefused(pool().refusal()));
    }
    return failure;
  }
  // The part of the response that was received.
  [[nodiscard]] Response& response() noexcept { return response_; }

 protected:
  // The fields of the head: the request's own, and those that the derived class adds.
  [[nodiscard]] virtual std::span<const Field> fields(const Request& request, Instant now) = 0;
  // The last call: it may destroy this, or start it again.
  virtual void on_round_trip(CloseReason reason) = 0;

 private:
  void on_stream() override {
    sent_ = 0;
    Head head = request_->head();
    head.scheme = pool().endpoint().scheme();
    if (head.authority.empty()) head.authority = pool().authority();
    head.fields = fields(*request_, pool().loop().now());
    stream().send_head(head, request_->body.empty());
    if (!request_->body.empty()) send_body();
  }
  void on_head(const Head& head, bool end) override {
    on_received(end);
    response_ = Response::from(head);
    const bool too_large = !end && head.content_length && *head.content_length > max_body_;
    if (too_large && excess_ == Excess::refuse) return end_early(CloseReason::body_too_large);
    if (!end && head.content_length) {
      response_.body.reserve(
          static_cast<std::size_t>(std::min<std::uint64_t>(*head.content_length, max_body_)));
    }
    if (end && sent_ < request_->body.size()) end_early(CloseReason::finished);
  }
  void on_data(std::string_view bytes) override {
    if (bytes.size() > max_body_ - response_.body.size()) {
      if (excess_ == Excess::cut)
        response_.body += bytes.substr(0, max_body_ - response_.body.size());
      return end_early(CloseReason::body_too_large);
    }
    response_.body += bytes;
    stream().consumed(bytes.size());
  }
  void on_end(std::span<const Field> trailers) override {
    on_received(true);
    if (!trailers.empty()) response_.trailers = FieldList(trailers);
    // A response before the request was written completely is valid: the rest is not needed.
    if (sent_ < request_->body.size()) end_early(CloseReason::finished);
  }
  void on_writable() override {
    if (sent_ < request_->body.size()) send_body();
  }
  void on_done(CloseReason reason) override {
    on_round_trip(is_whole() ? CloseReason::finished : reason);
  }
  void send_body() {
    const std::string_view rest = std::string_view(request_->body).substr(sent_);
    sent_ += stream().send_data(rest, true);
  }
  void end_early(CloseReason reason) {
    cancel();
    on_round_trip(reason);
  }

  const Request* request_ = nullptr;
  std::size_t max_body_ = 0;
  Excess excess_ = Excess::refuse;
  std::size_t sent_ = 0;  // of the request's body
  Response response_;
};

}  // namespace damper::http
