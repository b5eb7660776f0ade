#ifndef DAMPER_HTTP_CLIENT_ROUND_TRIP_H_
#define DAMPER_HTTP_CLIENT_ROUND_TRIP_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "damper/http/client/pool.h"
#include "damper/http/codec/message.h"

namespace damper::http {

// A RoundTrip sends one whole request to a pool and gathers the whole answer.
//
// Model: the head is written when there is a stream, with the fields that the derived class says
// then: what is said of the time that remains is true when it is sent. A stream that ended before a
// byte of the request left (a kept connection that its server had closed) is replaced by another
// one, kReopenings times: nobody can have seen the first.
// Invariants:
//   (1) on_done() comes once, unless it is cancelled; `finished` if and only if the answer is
//   whole. (2) An answer has at most max_body bytes of body.
// Thread safety: none. Cost: no allocation but the answer's.
class RoundTrip : private PoolUser {
 public:
  // REQUIRES: it is not under way. The pool and the request outlive it. on_done() may come from
  // within.
  void start(Pool& pool, const Request& request, std::size_t max_body);
  // Gives it up: the peer sees it. Nothing is heard any more.
  using PoolUser::cancel;
  using PoolUser::cancel_late;
  using PoolUser::is_under_way;

  // Of the answer, as far as it came.
  [[nodiscard]] Response& response() noexcept { return response_; }
  [[nodiscard]] bool is_answered() const noexcept { return answered_; }

 protected:
  // What the head carries: the request's own fields, and what the derived class adds.
  [[nodiscard]] virtual std::span<const Field> fields(const Request& request, Instant now) = 0;
  // The last call: it may destroy this, or start it again.
  virtual void on_done(CloseReason reason) = 0;

 private:
  static constexpr int kReopenings = 3;

  void on_open(Stream& stream) override;
  void on_head(const Head& head, bool end) override;
  void on_data(std::string_view bytes) override;
  void on_end(std::span<const Field> trailers) override;
  void on_writable() override;
  void on_over(CloseReason reason, bool unsent) override;
  void send_body();
  void end_early(CloseReason reason);

  Pool* pool_ = nullptr;
  const Request* request_ = nullptr;
  Stream* stream_ = nullptr;
  std::size_t max_body_ = 0;
  std::size_t sent_ = 0;  // of the request's body
  int reopenings_ = 0;
  bool answered_ = false;  // the head is there
  bool whole_ = false;     // all of the answer is there
  Response response_;
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_CLIENT_ROUND_TRIP_H_
