#ifndef DAMPER_PROXY_REQUEST_PASSAGE_H_
#define DAMPER_PROXY_REQUEST_PASSAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "damper/http/client/waiting_line.h"
#include "damper/http/codec/stream.h"
#include "damper/http/net/loop.h"
#include "damper/proxy/data/loop_table.h"
#include "damper/proxy/data/route_admission.h"
#include "damper/proxy/request/access_record.h"
#include "damper/proxy/request/kept_body.h"
#include "damper/proxy/request/kept_head.h"
#include "damper/proxy/request/own_answer.h"
#include "damper/proxy/request/passage_lane.h"
#include "damper/run/call_driver.h"
#include "damper/run/inherited.h"

namespace damper::proxy {

class PassageSink;

// A Passage is one request on its way through the proxy: the user of the client's stream, and a
// call whose attempts are lanes on replicas. It decides nothing about retrying: the engine does.
//
// Model, by state:
//   arriving   the head is not there yet
//   waiting    at the route's gate
//   calling    the engine drives: attempts are asking, held or failed; nothing went downstream
//   passing    one attempt's answer goes downstream; there is no way back (trap P3)
//   tunnel     the same, with bytes of another protocol both ways
//   answered   all was said downstream
//   over       the client's stream has ended; lanes that are still under way are given up
// The door: no route is 404; a rate limit refuses with 429; the gate admits, holds or sheds. A
// deadline counts from the first byte (trap D1), and the engine refuses what has none left (trap
// D3). An answer that the engine hears as a success is chosen: its head goes downstream at once,
// or, with a response_buffer, when it is whole or over the bound. One that is no success stays with
// its lane: when the call ends the last one is passed on, as it is, and `damper-verdict` says why
// it was not tried again. Without any, or when it is not whole and no time is left for the rest,
// the proxy answers itself (own_answer.h).
// The route's timeout is for the whole exchange: an answer that is still being passed on then is
// cut off, for the client and for the replica.
// A tunnel has no deadline, but the idle bounds of its connections. Each direction ends by itself:
// an end is passed on after the bytes before it, and the other direction goes on. A reset, or an
// idle bound, ends both: the other side is reset, but for what an end has completed already.
// An interim answer (102 to 199) is no part of the answer: attempts go on after it. It is passed on
// at once, of one attempt only, the first that has any: the client never hears two replicas.
// Invariants:
//   (1) Every request is answered or cut off, and recorded once.
//   (2) After the first byte of an answer went downstream no attempt is sent.
//   (3) No more of a request's body is kept than request_buffer and a window; no more of answers
//       than response_buffer, or 16 KiB, and a window for each attempt.
//   (4) It is used again only when neither end can call it any more: at the end of a turn.
// Thread safety: none; one loop.
// Cost: no allocation once it has carried a request as large; but for attempts beside another one.
class Passage final : public http::StreamUser,
                      private RouteAdmission::Request,
                      private http::Loop::Timer,
                      private http::WaitingLine::Waiter {
 public:
  explicit Passage(PassageSink& sink);
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;
  ~Passage() override;

  // For a new request. REQUIRES: it is new or was recycled.
  void begin(http::Stream& stream, std::shared_ptr<const LoopTable> table);
  // Forgets the last one, and keeps its memory.
  void recycle();
  // The loop ends: gives everything up, without a word.
  void abandon();

  // ---- For its lanes
  [[nodiscard]] http::Head head_for(const PassageLane& lane);
  [[nodiscard]] const KeptBody& body() const noexcept { return body_; }
  [[nodiscard]] bool has_no_body() const noexcept { return has_no_body_; }
  [[nodiscard]] std::span<const http::Field> request_trailers() const noexcept {
    return trailers_.head().fields;
  }
  [[nodiscard]] bool connects() const noexcept { return connects_; }
  void on_body_taken();
  void on_interim_answer(const PassageLane& lane, const http::Head& head);
  void on_answer(PassageLane& lane, const http::Head& head);
  void on_answer_data(PassageLane& lane, std::string_view bytes);
  void on_answer_end(PassageLane& lane);
  void on_lane_over(PassageLane& lane, http::CloseReason reason, bool answered);

 private:
  friend class PassageSink;

  enum class State : std::uint8_t { arriving, waiting, calling, passing, tunnel, answered, over };
  static constexpr std::size_t kMostLanes = engine::kLanes + 1;  // the failed one beside the rest

  class Driver final : public run::CallDriver {
   public:
    Driver(Passage& passage, engine::Dependency& dependency, const engine::CallOptions& options)
        : CallDriver(dependency, options), passage_(passage) {}
    void forget(Instant now) noexcept { abandon(now); }

   private:
    void send(const engine::Attempt& attempt) override { passage_.send(attempt); }
    void give_up(int lane) override { passage_.give_up(lane); }
    void wake_at(Instant when) override { passage_.wake_at(when); }
    void on_verdict(Verdict verdict) override { passage_.on_verdict(verdict); }
    Passage& passage_;
  };

  // ---- The client's stream
  void on_head(const http::Head& head, bool end) override;
  void on_data(std::string_view bytes) override;
  void on_end(std::span<const http::Field> trailers) override;
  void on_writable() override;
  void on_close(http::CloseReason reason) override;

  // ---- The door
  void on_admitted(Instant now) override;
  void on_refused(Verdict verdict, Duration retry_after, Instant now) override;
  void enter(Instant now);
  void call(Instant now);

  // ---- The engine's steps
  void send(const engine::Attempt& attempt);
  void give_up(int place);
  void wake_at(Instant when);
  void on_verdict(Verdict verdict);
  void on_timer(Instant now) override;
  void on_flip(Instant now) override { driver_->on_timer(now); }

  // ---- Answers
  void choose(PassageLane& lane, const http::Head* head);
  void fail(PassageLane& lane, const http::Head* head);
  void fail_without_answer(PassageLane& lane, decide::Outcome outcome);
  void pass(PassageLane& lane, Verdict verdict);
  void begin_tunnel(PassageLane& lane);
  void on_tunnel_broken(PassageLane& lane, http::CloseReason reason);
  void flush(PassageLane& lane);
  void answer(const OwnAnswer& answer);
  void cut(Verdict verdict, http::CloseReason reason = http::CloseReason::cancelled);
  void drop_fallback();

  [[nodiscard]] PassageLane& free_lane();
  void settle(PassageLane& lane, decide::Outcome outcome);
  void pump_body();
  void end(http::CloseReason reason);
  void record(http::CloseReason reason);
  void look_for_the_end();
  [[nodiscard]] const RouteConfig& config() const noexcept { return *route_->config; }
  [[nodiscard]] Instant now() const noexcept { return Timer::loop().now(); }

  PassageSink& sink_;
  std::shared_ptr<const LoopTable> table_;  // outlives the lanes, which use its pools
  const LoopRoute* route_ = nullptr;
  http::Stream* down_ = nullptr;
  State state_ = State::over;
  bool end_sent_ = false;     // downstream
  bool has_no_body_ = false;  // the request
  bool grpc_ = false;
  bool connects_ = false;
  bool asks_tunnel_ = false;
  bool tunnel_ = false;  // and has it
  bool over_ = true;     // it waits for the turn's end, or is spare
  http::CloseReason broken_ = http::CloseReason::finished;  // a tunnel's replica, and why
  Verdict verdict_ = Verdict::none;
  decide::Outcome last_ = decide::Outcome::success;  // of the last attempt that failed
  std::uint32_t interim_attempt_ = 0;  // whose interim answers are passed on; 0: none came
  int status_ = 0;
  Instant arrived_{};
  KeptHead request_;
  KeptHead trailers_;  // the request's
  KeptBody body_;
  run::Inherited inherited_;
  std::string_view owner_;  // who retries
  std::string replica_;     // the last one that was asked
  http::ReplicaSet tried_;
  std::optional<Driver> driver_;
  std::array<PassageLane*, engine::kLanes> by_place_{};  // of the engine's
  PassageLane* fallback_ = nullptr;  // whose answer is passed on if none succeeds
  PassageLane* passing_ = nullptr;
  std::uint64_t bytes_in_ = 0;
  std::uint64_t bytes_out_ = 0;
  Duration upstream_head_{0};
  Passage* before_ = nullptr;  // in the sink's list of those under way
  Passage* after_ = nullptr;
  PassageLane first_lane_;  // most requests need one
  std::array<std::unique_ptr<PassageLane>, kMostLanes - 1> lanes_;
};

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_REQUEST_PASSAGE_H_
