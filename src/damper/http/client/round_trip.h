#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "damper/http/client/pool.h"
#include "damper/http/codec/message.h"

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
  // REQUIRES: it is not under way. The pool and the request outlive it. on_done() may be called
  // from within.
  void start(Pool& pool, const Request& request, std::size_t max_body);
  using PoolRequest::cancel;
  using PoolRequest::is_answered;
  using PoolRequest::is_under_way;

  // The part of the response that was received.
  [[nodiscard]] Response& response() noexcept { return response_; }

 protected:
  // The fields of the head: the request's own, and those that the derived class adds.
  [[nodiscard]] virtual std::span<const Field> fields(const Request& request, Instant now) = 0;
  // The last call: it may destroy this, or start it again.
  virtual void on_round_trip(CloseReason reason) = 0;

 private:
  void on_stream() override;
  void on_head(const Head& head, bool end) override;
  void on_data(std::string_view bytes) override;
  void on_end(std::span<const Field> trailers) override;
  void on_writable() override;
  void on_done(CloseReason reason) override {
    on_round_trip(is_whole() ? CloseReason::finished : reason);
  }
  void send_body();
  void end_early(CloseReason reason);

  const Request* request_ = nullptr;
  std::size_t max_body_ = 0;
  std::size_t sent_ = 0;  // of the request's body
  Response response_;
};

}  // namespace damper::http
