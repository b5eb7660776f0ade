#pragma once

#include <boost/intrusive/list_hook.hpp>

#include "damper/http/codec/stream.h"

namespace damper::http {

class Pool;

// A PoolUser requests a stream of a pool, then uses it.
//
// Model: Pool::open(user), then on_open() when there is a stream, perhaps at once; then the calls
// of a StreamUser. If no stream can be opened, on_over() has the reason, without on_open().
// Lifetime: it outlives its stream and its wait: cancel() ends both, and so does the destructor.
// Thread safety: none; all on the loop's thread.
class PoolUser : private StreamUser {
 public:
  PoolUser() = default;
  PoolUser(const PoolUser&) = delete;
  PoolUser& operator=(const PoolUser&) = delete;
  virtual ~PoolUser() { cancel(); }

  // Ends the wait or resets the stream; the user is not called any more. Not from within on_over().
  void cancel();
  // The same, because its time is over: a connection on which nothing was received since the stream
  // began is not reused. Otherwise a black-holed path would be used for ever.
  void cancel_late();
  [[nodiscard]] bool is_under_way() const noexcept { return pool_ != nullptr; }

 protected:
  // The stream is valid until on_over() or cancel().
  virtual void on_open(Stream& stream) = 0;
  void on_head(const Head& head, bool end) override = 0;
  void on_data(std::string_view bytes) override = 0;
  void on_end(std::span<const Field> trailers) override = 0;
  void on_interim(const Head& /*head*/) override {}
  void on_writable() override {}
  // The last call: the user may destroy itself. `unsent`: no byte of the request can have reached
  // the peer.
  virtual void on_over(CloseReason reason, bool unsent) = 0;

 private:
  friend class Pool;
  void on_close(CloseReason reason) final;

  Pool* pool_ = nullptr;                       // where it waits or has its stream
  Stream* stream_ = nullptr;                   // nullptr: it waits
  void* link_ = nullptr;                       // the stream's connection
  boost::intrusive::list_member_hook<> hook_;  // in the pool's queue
};

}  // namespace damper::http
