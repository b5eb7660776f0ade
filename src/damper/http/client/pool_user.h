#ifndef DAMPER_HTTP_CLIENT_POOL_USER_H_
#define DAMPER_HTTP_CLIENT_POOL_USER_H_

#include "damper/http/codec/stream.h"

namespace damper::http {

class Pool;

// A PoolUser is somebody who wants a stream of a pool, then uses it.
//
// Model: Pool::open(user), then on_open() when there is a stream, perhaps at once; then what a
// StreamUser hears. When no stream comes about, on_over() says why without on_open().
// Lifetime: it outlives its stream and its waiting: cancel() ends both, and so does the destructor.
// Thread safety: none; all on the loop's thread.
class PoolUser : private StreamUser {
 public:
  PoolUser() = default;
  PoolUser(const PoolUser&) = delete;
  PoolUser& operator=(const PoolUser&) = delete;
  virtual ~PoolUser() { cancel(); }

  // Gives up the wait or the stream; the user hears nothing more. Not from within on_over().
  void cancel();
  // The same, because its time is over: a connection of which nothing was heard since the stream
  // began is used for nothing new. A path that swallows everything would be used for ever.
  void cancel_late();
  [[nodiscard]] bool is_under_way() const noexcept { return pool_ != nullptr; }

 protected:
  // The stream is good until on_over() is called, or cancel().
  virtual void on_open(Stream& stream) = 0;
  void on_head(const Head& head, bool end) override = 0;
  void on_data(std::string_view bytes) override = 0;
  void on_end(std::span<const Field> trailers) override = 0;
  void on_interim(const Head& /*head*/) override {}
  void on_writable() override {}
  // It is over, and the user may do with itself what it wants. `unsent`: no byte of the request can
  // have reached the peer.
  virtual void on_over(CloseReason reason, bool unsent) = 0;

 private:
  friend class Pool;
  void on_close(CloseReason reason) final;

  Pool* pool_ = nullptr;        // where it waits or has its stream
  Stream* stream_ = nullptr;    // nullptr: it waits
  void* link_ = nullptr;        // whose stream it is
  PoolUser* before_ = nullptr;  // in the pool's line
  PoolUser* after_ = nullptr;
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_CLIENT_POOL_USER_H_
