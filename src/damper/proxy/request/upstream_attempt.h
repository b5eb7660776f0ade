#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "damper/base/unix_time.h"
#include "damper/decide/outcome.h"
#include "damper/http/client/attempt_driver.h"
#include "damper/http/client/pool.h"
#include "damper/http/codec/head.h"
#include "damper/policy/file/retry_on.h"
#include "damper/proxy/request/kept_message.h"

namespace damper::proxy {

class ProxiedRequest;

// An UpstreamAttempt is one attempt of a proxied request: a request to a replica, and its response.
//
// Model: free -> in_flight -> buffering, responding or failed -> free.
//   in_flight    it waits for a stream of the replica's pool, or for the response's head; the
//                request's body is forwarded as it arrives
//   buffering    a success whose body is gathered, up to the route's response_buffer
//   failed       the engine knows the failure; the response is kept in case it is the last one, and
//                the rest of the request's body is not forwarded
//   responding   its response is forwarded downstream
// Back-pressure: of a body that cannot be forwarded yet, kKept bytes are consumed; the rest is not,
// so that the replica stops sending.
// Invariants:
//   (1) At most response_buffer, or kKept, and the window of the replica's connection are kept of a
//       response.
//   (2) The lease is settled once for each start().
// Thread safety: none; one loop.
class UpstreamAttempt final : public http::PoolRequest, public http::LeasedAttempt {
 public:
  explicit UpstreamAttempt(ProxiedRequest& request) noexcept : request_(request) {}

  // Cancels its stream, if it has one, and forgets everything. Not from within on_done().
  void release(bool late = false);
  void settle(decide::Outcome outcome);
  // Settles and releases it, with the outcome of a complete response, else as cancelled.
  void abandon();
  [[nodiscard]] bool is_free() const noexcept { return state_ == State::free; }

  // ---- The request
  // Whether the body is still forwarded to it: not if a part that it lacks was dropped.
  [[nodiscard]] bool takes_body() const noexcept;
  // Whether it may still need bytes from taken() on.
  [[nodiscard]] bool needs_body() const noexcept;
  // Sends the part of the body that has arrived, if it takes more.
  void pump();
  [[nodiscard]] std::uint64_t taken() const noexcept { return has_stream() ? taken_ : 0; }
  // The stream carries another protocol from now on: from offset 0, and not ended.
  void begin_tunnel() noexcept;

  // ---- The response
  // It is the one that is forwarded downstream.
  void respond() noexcept { state_ = State::responding; }
  void keep_head(const http::Head& head) { head_.keep(head); }
  [[nodiscard]] const http::Head& head() const noexcept { return head_.head(); }
  [[nodiscard]] std::span<const http::Field> trailers() const noexcept {
    return trailers_.head().fields;
  }
  [[nodiscard]] decide::Outcome outcome() const noexcept { return report_.outcome; }
  [[nodiscard]] std::string_view gathered() const noexcept {
    return std::string_view(body_).substr(body_begin_);
  }
  // Whether the replica had to wait for the client to read the response.
  [[nodiscard]] bool was_held_back() const noexcept { return was_held_back_; }
  // Forwards gathered() and returns the number of bytes that the client's stream took.
  std::size_t drain_to(http::Stream& client);

 private:
  enum class State : std::uint8_t { free, in_flight, buffering, failed, responding };
  void on_upload(bool awaited);
  void end_hold(Instant now) noexcept;
  static constexpr std::size_t kKept = std::size_t{16} * 1024;

  void start() override;
  void give_up(bool late) override;

  void on_stream() override;
  void on_interim(const http::Head& head) override;
  void on_head(const http::Head& head, bool end) override;
  void on_data(std::string_view bytes) override;
  void on_end(std::span<const http::Field> trailers) override;
  void on_writable() override;
  [[nodiscard]] bool may_reopen() const noexcept override;
  void on_done(http::CloseReason reason) override;

  void keep(std::string_view bytes, bool consume);
  void succeed(const http::Head& head);
  void fail(const http::Head& head);

  ProxiedRequest& request_;
  std::uint64_t taken_ = 0;  // of the request's body
  State state_ = State::free;
  bool end_taken_ = false;      // of the request
  bool awaits_client_ = false;  // it has all of the request that has arrived, and not its end
  bool was_held_back_ = false;  // the client did not read the response in time
  decide::Report report_{};
  KeptHead head_;
  KeptHead trailers_;
  std::string body_;
  std::size_t body_begin_ = 0;
  std::size_t owed_ = 0;  // of body_: not consumed yet
};

// The report of a response to the engine, from the part that was received.
//
// Model: an HTTP response is judged by its status, Retry-After and RateLimit-Reset; a gRPC response
// with status 200 by grpc-status and grpc-retry-pushback-ms, in the head of a trailers-only
// response, else in the trailers. A gRPC head without grpc-status is a success so far. The policy's
// retry_on excludes statuses from retries.
// Cost: no allocation; one comparison for an HTTP success. `now` is the wall time, for dates.
[[nodiscard]] decide::Report report_of_head(const http::Head& answer,
                                            const policy::RetryOn& retry_on, UnixTime now);
// For a complete response; `head` is the result of report_of_head().
[[nodiscard]] decide::Report report_of_trailers(const decide::Report& head,
                                                std::span<const http::Field> trailers,
                                                const policy::RetryOn& retry_on);

}  // namespace damper::proxy
