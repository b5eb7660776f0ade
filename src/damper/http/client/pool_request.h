#pragma once

#include <cstdint>
#include <utility>

#include "damper/http/client/pool.h"
#include "damper/http/client/pool_user.h"

namespace damper::http {

// A PoolRequest is one request on a stream of a pool, with the stream replaced if need be.
//
// Model: open() gets a stream, perhaps later; on_stream() writes the request. A stream that ended
// before a byte of the request was written (the server had closed an idle connection) is replaced,
// up to kReopenings times: no server can have seen it.
// Invariants:
//   (1) on_done() is called once for each open(), unless it is cancelled.
//   (2) A peer that closes before its response is complete is `reset`, never `finished`.
// Thread safety: none. Cost: no allocation.
class PoolRequest : public PoolUser {
 public:
  // Resets the stream, or leaves the pool's queue; on_done() is not called. Not from on_done().
  // `late`: its time was over, see PoolUser::cancel_late().
  void cancel(bool late = false) {
    late ? PoolUser::cancel_late() : PoolUser::cancel();
    stream_ = nullptr;
  }
  [[nodiscard]] bool has_stream() const noexcept { return stream_ != nullptr; }
  [[nodiscard]] bool is_answered() const noexcept { return response_ != Received::nothing; }
  [[nodiscard]] bool is_whole() const noexcept { return response_ == Received::whole; }

 protected:
  // REQUIRES: it is not under way. The pool outlives it. on_done() may be called from within.
  void open(Pool& pool) {
    pool_ = &pool;
    stream_ = nullptr;
    response_ = Received::nothing;
    reopenings_ = 0;
    pool.open(*this);
  }
  [[nodiscard]] Pool& pool() const noexcept { return *pool_; }
  // REQUIRES: has_stream().
  [[nodiscard]] Stream& stream() const noexcept { return *stream_; }
  void on_received(bool whole) noexcept { response_ = whole ? Received::whole : Received::head; }

  virtual void on_stream() = 0;  // writes the request from its start
  [[nodiscard]] virtual bool may_reopen() const noexcept { return true; }
  // The last call: it may destroy this, or open it again.
  virtual void on_done(CloseReason reason) = 0;

 private:
  enum class Received : std::uint8_t { nothing, head, whole };
  static constexpr std::uint8_t kReopenings = 3;

  void on_open(Stream& stream) final {
    stream_ = &stream;
    on_stream();
  }
  void on_over(CloseReason reason, bool unsent) final {
    const bool had_stream = std::exchange(stream_, nullptr) != nullptr;
    if (unsent && had_stream && reason == CloseReason::refused && reopenings_ < kReopenings &&
        may_reopen()) {
      ++reopenings_;
      return pool_->open(*this);
    }
    if (!is_whole() && reason == CloseReason::finished) reason = CloseReason::reset;
    on_done(reason);
  }

  Pool* pool_ = nullptr;
  Stream* stream_ = nullptr;
  Received response_ = Received::nothing;
  std::uint8_t reopenings_ = 0;
};

}  // namespace damper::http
