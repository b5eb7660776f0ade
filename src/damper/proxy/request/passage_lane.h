#ifndef DAMPER_PROXY_REQUEST_PASSAGE_LANE_H_
#define DAMPER_PROXY_REQUEST_PASSAGE_LANE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/decide/outcome.h"
#include "damper/engine/step.h"
#include "damper/http/client/pool_user.h"
#include "damper/proxy/data/upstream.h"
#include "damper/proxy/request/kept_head.h"

namespace damper::proxy {

class Passage;

// A PassageLane is one attempt of a passage: a request on a replica, and what came of its answer.
//
// Model: free -> asking -> passing, held or failed -> free.
//   asking    it waits for a stream of the replica's pool, or for the answer's head; the request's
//             body goes to it as it comes
//   held      a success whose body is gathered, up to the route's response_buffer
//   failed    the engine has heard that it failed; its answer is kept, in case that it is the last;
//             of the request it takes no more
//   passing   its answer goes downstream
// A stream that ended before a byte of the request left (a kept connection that its server had
// closed) is replaced by another one, kReopenings times: nobody can have seen the first.
// Of a body that cannot be passed on yet, kKept bytes are taken; the rest is not consumed, so that
// the replica stops.
// Invariants:
//   (1) What it keeps of an answer is bounded: by response_buffer, or kKept, and by the window of
//       the replica's connection.
//   (2) The replica is settled once for each start().
// Thread safety: none; one loop. Decides nothing: the passage does.
class PassageLane final : public http::PoolUser {
 public:
  enum class State : std::uint8_t { free, asking, held, failed, passing };
  static constexpr std::size_t kKept = std::size_t{16} * 1024;

  explicit PassageLane(Passage& passage) noexcept : passage_(passage) {}

  // REQUIRES: it is free. What comes of it may come from within.
  void start(const engine::Attempt& attempt, const Upstream::Place& place);
  // Gives its stream up, if it has one, and forgets everything. `late`: its time was over. Not from
  // within on_over().
  void release(bool late = false);

  [[nodiscard]] const engine::Attempt& attempt() const noexcept { return attempt_; }
  [[nodiscard]] Upstream::Place& place() noexcept { return place_; }
  [[nodiscard]] const http::Pool& pool() const noexcept { return *place_.pool; }
  [[nodiscard]] State state() const noexcept { return state_; }
  void set_state(State state) noexcept { state_ = state; }
  [[nodiscard]] bool is_free() const noexcept { return state_ == State::free; }
  [[nodiscard]] bool has_stream() const noexcept { return stream_ != nullptr; }

  // ---- The request
  // Whether its body still goes to it: not if a part that it has not taken is gone.
  [[nodiscard]] bool takes_more() const noexcept;
  // Sends what there is of its body, if it takes more.
  void pump();
  // From now on bytes of another protocol: from 0 on, and without an end yet.
  void begin_tunnel() noexcept;
  [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }

  // ---- The answer
  [[nodiscard]] bool is_whole() const noexcept { return whole_; }
  [[nodiscard]] decide::Report& report() noexcept { return report_; }
  // Its head: the one that is being told, or the kept one.
  [[nodiscard]] const http::Head& head() const noexcept {
    return live_ != nullptr ? *live_ : head_.head();
  }
  void keep_head(const http::Head& head) { head_.keep(head); }
  void set_live(const http::Head* head) noexcept { live_ = head; }
  [[nodiscard]] std::span<const http::Field> trailers() const noexcept {
    return trailers_.head().fields;
  }
  // What of its body is gathered and not passed on. keep() with `take`: the replica may go on.
  [[nodiscard]] std::string_view gathered() const noexcept {
    return std::string_view(body_).substr(body_begin_);
  }
  void keep(std::string_view bytes, bool take);
  void on_passed(std::size_t bytes);     // of what is gathered
  void take_at_once(std::size_t bytes);  // of what on_data() gave, and went on

 private:
  static constexpr int kReopenings = 3;

  void on_open(http::Stream& stream) override;
  void on_interim(const http::Head& head) override;
  void on_head(const http::Head& head, bool end) override;
  void on_data(std::string_view bytes) override;
  void on_end(std::span<const http::Field> trailers) override;
  void on_writable() override;
  void on_over(http::CloseReason reason, bool unsent) override;

  Passage& passage_;
  engine::Attempt attempt_{};
  Upstream::Place place_{};
  http::Stream* stream_ = nullptr;
  std::uint64_t taken_ = 0;  // of the request's body
  State state_ = State::free;
  bool end_taken_ = false;  // of the request
  bool answered_ = false;
  bool whole_ = false;
  std::uint8_t reopenings_ = 0;
  decide::Report report_{};
  const http::Head* live_ = nullptr;
  KeptHead head_;
  KeptHead trailers_;
  std::string body_;
  std::size_t body_begin_ = 0;
  std::size_t owed_ = 0;  // of body_: not consumed yet
};

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_REQUEST_PASSAGE_LANE_H_
