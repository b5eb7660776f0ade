#pragma once

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "damper/http/client/attempt_driver.h"
#include "damper/http/codec/connection.h"
#include "damper/http/codec/stream.h"
#include "damper/http/net/loop.h"
#include "damper/proxy/config/listener_rules.h"
#include "damper/proxy/data/route_admission.h"
#include "damper/proxy/log/access_log.h"
#include "damper/proxy/request/client_identity.h"
#include "damper/proxy/request/field_editor.h"
#include "damper/proxy/request/forward_fields.h"
#include "damper/proxy/request/kept_message.h"
#include "damper/proxy/request/own_answer.h"
#include "damper/proxy/request/request_trace.h"
#include "damper/proxy/request/tunnel.h"
#include "damper/proxy/request/upstream_attempt.h"
#include "damper/proxy/split/hash_policy.h"
#include "damper/run/scope.h"

namespace damper::proxy {

class RequestFactory;

// A ProxiedRequest is the client's side of one request through the proxy: the user of the client's
// stream, with a call whose attempts are UpstreamAttempts. The engine decides about retries.
//
// Model, by state:
//   arriving     the head was not received yet
//   buffering    by request_buffering: no replica is asked before the body has arrived
//   queued       it waits for the route's admission
//   calling      the engine drives: attempts are in flight, buffering or failed; nothing was sent
//                downstream. The end of a body that arrives meanwhile is withheld until the
//                complete request is admitted (design 0038)
//   responding   one attempt's response is forwarded downstream; no retry is possible (trap P3).
//                With a Tunnel: bytes of another protocol, both ways. Neither holds a slot of the
//                admission, which bounds the service's work; a tunnel has one of max_tunnels
//   answered     the complete response was sent downstream
//   closed       the client's stream has ended; an attempt may still be under way
//   idle         it is not in use
// Route: one of the weighted_clusters is selected once, before the admission, by the key of the
// hash_policy; without a key it is drawn. From then on the request is that cluster's alone: a retry
// or a hedge never leaves it.
// Admission: a path that the listener refuses is 400; no route is 404; a route with a
// direct_response or a redirect answers at once; an upgrade that the route does not allow is 403; a
// rate limit refuses with 429, max_tunnels with 503; the admission admits, queues or sheds. Its
// slot is released when the response begins: a client that reads slowly, or tunnels, holds none
// (design 0038). A deadline counts from the first byte (trap D1); the engine refuses a request that
// has none left (trap D3). A successful response is forwarded at once, or, with a response_buffer,
// when it is complete or over the bound. A failed one stays with its attempt: when the call ends
// the last one is forwarded unchanged, with the reason in `damper-verdict`. Without any, or when it
// is incomplete and no time is left for the rest, the proxy answers itself (own_answer.h). The
// route's timeout bounds the whole exchange: a response that is still being forwarded then is
// reset, downstream and upstream. An interim response (102 to 199) is forwarded at once, and
// attempts continue after it. Only those of the first attempt that sends one are forwarded: a
// client never sees two replicas.
// Invariants:
//   (1) Every request is answered or reset, and recorded once.
//   (2) After the first byte of a response was sent downstream no attempt is started.
//   (3) At most request_buffer and a window are kept of a request's body; of responses at most
//       response_buffer, or 16 KiB, and a window for each attempt. What exceeds kUncounted, with
//       the request's head, counts among the KeptBytes of the proxy: without room there a request
//       is not kept for a retry, a response is not buffered, and what has to be kept is shed (503,
//       or a reset).
//   (4) A slot of the admission is held in the state `calling` alone, by a complete request, and
//       its latency is the time from then to the head of the response.
//   (5) It is reused only when neither stream can call it any more: at the end of a turn.
// Thread safety: none; one loop.
// Cost: no allocation once it has carried a request as large, except for concurrent attempts.
class ProxiedRequest final : public http::StreamUser,
                             private RouteAdmission::Request,
                             private http::Loop::Timer {
 public:
  explicit ProxiedRequest(RequestFactory& factory);
  ~ProxiedRequest() override;

  // For a new request. REQUIRES: it is new or was recycled.
  // `rules` are the listener's; valid until on_head() has been called.
  void begin(http::Stream& client, std::shared_ptr<const LoopTable> table,
             const ListenerRules& rules);
  // Resets it and keeps its memory.
  void recycle();
  // The loop ends: cancels everything without an answer.
  void abandon();

  // ---- For its attempts
  [[nodiscard]] http::Head head_for(const engine::Attempt& attempt, const http::Pool& pool);
  [[nodiscard]] const RouteConfig& config() const noexcept { return *route_->config; }
  // By the route's hash_policy; nothing: the request has no key.
  [[nodiscard]] std::optional<std::uint64_t> hash_key() const noexcept { return hash_key_; }
  [[nodiscard]] const KeptBody& body() const noexcept { return body_; }
  [[nodiscard]] bool has_no_body() const noexcept { return has_no_body_; }
  // Whether a part of the body has not arrived.
  [[nodiscard]] bool is_uploading() const noexcept { return !has_no_body_ && !body_.has_ended(); }
  [[nodiscard]] std::span<const http::Field> trailers() const noexcept {
    return trailers_.head().fields;
  }
  [[nodiscard]] bool is_connect() const noexcept { return kind_ == Kind::connect; }
  [[nodiscard]] bool wants_tunnel() const noexcept { return kind_ != Kind::plain; }
  [[nodiscard]] bool has_client() const noexcept { return client_ != nullptr; }
  [[nodiscard]] Instant now() const noexcept { return Timer::loop().now(); }
  void on_attempt_started(const engine::Attempt& attempt, const http::Pool& pool);
  void on_attempt_settled(std::uint32_t number, decide::Outcome outcome) noexcept {
    trace_.on_attempt_over(number, outcome, now());
  }
  void on_attempt_late() noexcept { last_ = decide::Outcome::timeout; }
  void on_body_taken();
  // Whether an attempt waits for the client, or its replica takes no more; see engine::Call.
  void on_upload(bool awaited) {
    awaits_client_ = awaited;
    awaited ? call_->on_upload_awaited(now()) : call_->on_upload_blocked(now());
  }
  // Whether attempts may send the end of the body: it has arrived, and the complete request was
  // admitted.
  [[nodiscard]] bool may_end_body() const noexcept { return body_.has_ended() && !gated_; }
  // The part of the body from `offset` on that may be sent: without its last byte, which is an end
  // too if the length was announced, until may_end_body().
  [[nodiscard]] std::string_view sendable_body(std::uint64_t offset) const noexcept;
  void on_interim_response(std::uint32_t attempt, const http::Head& head);
  void on_response_head(const engine::Attempt& attempt, int status);
  // The attempt's response is the one; `head` is valid during the call.
  void on_success(UpstreamAttempt& attempt, const http::Head& head);
  // It failed with a response, which is forwarded if no later attempt has one.
  void on_failure(UpstreamAttempt& attempt, const decide::Report& report, const http::Head& head);
  void on_failure_without_response(const UpstreamAttempt& attempt, const decide::Report& report);
  void on_responder_over(UpstreamAttempt& attempt, http::CloseReason reason);
  // Returns how many bytes the client's stream took; all of them if the client has gone.
  [[nodiscard]] std::size_t forward(std::string_view bytes);
  // Counts what is kept now. False: there is no room for more, and the count is unchanged.
  [[nodiscard]] bool try_count_kept() noexcept;
  // The same; if there is no room, uploads of others that have stalled make some.
  [[nodiscard]] bool has_room();
  void shed_stalled(Instant now);
  // A part of the response is kept for a client that does not read it: it is cut without room.
  void on_response_kept();
  void flush();
  void drop_fallback(const UpstreamAttempt& attempt);
  void check_end();

 private:
  friend class RequestFactory;

  enum class State : std::uint8_t {
    arriving,
    buffering,
    queued,
    calling,
    responding,
    answered,
    closed,
    idle
  };
  // Bytes of each request that are not counted: small bodies are always served.
  static constexpr std::size_t kUncounted = std::size_t{2} * 1024;
  enum class Kind : std::uint8_t { plain, upgrade, connect };

  class Call final : public http::AttemptDriver {
   public:
    Call(ProxiedRequest& request, engine::Dependency& dependency,
         const engine::CallOptions& options);
    using CallDriver::abandon;
    void on_wake(Instant now) override;

   private:
    http::ReplicaLease pick(balance::ReplicaSet& tried, const balance::ReplicaSet& in_use,
                            Instant now) override;
    http::LeasedAttempt& free_attempt() override { return request_.attempts_.find_free(request_); }
    decide::Report on_no_replica() override;
    void arm(Instant when) override { request_.arm(when); }
    void on_verdict(Verdict verdict) override { request_.record_.verdict = verdict; }
    ProxiedRequest& request_;
  };

  // ---- The client's stream
  void on_head(const http::Head& received, bool end) override;
  void on_data(std::string_view bytes) override;
  void on_end(std::span<const http::Field> trailers) override;
  void on_writable() override;
  void on_close(http::CloseReason reason) override;

  void find_hash_key();
  void pick_cluster();

  // ---- Admission and the call
  void on_admitted(Instant now) override { state_ == State::calling ? complete(now) : call(now); }
  void on_refused(Verdict verdict, Duration retry_after, Instant now) override;
  void enter(Instant now);
  // The earlier of the caller's and the route's.
  [[nodiscard]] schedule::Deadline effective_deadline() const noexcept;
  void admit(Instant now);
  [[nodiscard]] http::Admission::Answer offer(Instant now);
  void complete(Instant now);
  void shed(const OwnAnswer& refusal, Instant now);
  void on_no_room();
  void release_kept() noexcept;
  void leave_admission(bool abandoned);
  void release_tunnel() noexcept;
  void call(Instant now);
  void conclude(const http::Head* last_head);
  void on_timer(Instant now) override;

  // ---- To the client
  void respond(UpstreamAttempt& attempt, const http::Head& response);
  void answer(const OwnAnswer& answer);
  void answer_directly();
  void count_own_body(std::size_t bytes) noexcept;
  [[nodiscard]] FieldContext field_context() const noexcept {
    return {.client_address = identity_.address,
            .request_id = identity_.request_id,
            .host = head_.head().authority,
            .route = config().name};
  }
  [[nodiscard]] AnswerEdits answer_edits() const noexcept;
  void cut(Verdict verdict, http::CloseReason reason = http::CloseReason::cancelled);

  void release_fallback();
  void pump_body();
  void end(http::CloseReason reason);

  RequestFactory& factory_;
  std::shared_ptr<const LoopTable> table_;  // outlives the attempts, which use its pools
  const LoopRoute* route_ = nullptr;
  http::Stream* client_ = nullptr;
  const ListenerRules* rules_ = nullptr;  // until on_head()
  State state_ = State::idle;
  Kind kind_ = Kind::plain;
  bool has_no_body_ = false;
  bool grpc_ = false;
  bool short_deadline_ = false;  // of the client; see schedule::is_cut_short()
  bool awaits_client_ = false;   // an attempt has sent all of the upload that has arrived
  bool has_tunnel_slot_ = false;
  bool gated_ = false;  // the call began before the request was complete, which is not admitted yet
  decide::Outcome last_ = decide::Outcome::success;  // of the last attempt that failed
  std::uint32_t interim_attempt_ = 0;  // whose interim responses are forwarded; 0: none came
  std::optional<std::uint64_t> hash_key_;
  std::optional<CookieValue> made_cookie_;  // by the hash_policy; the response sets it
  Instant arrived_{};
  AccessRecord record_;
  RequestTrace trace_;
  KeptHead head_;
  KeptHead trailers_;
  KeptBody body_;
  std::size_t kept_ = 0;  // counted among the KeptBytes
  run::RequestContext inherited_;
  std::string_view owner_;  // the layer that retries; empty: none
  std::string replica_;     // of the last attempt
  ClientIdentity identity_;
  std::optional<Call> call_;
  http::AttemptSlots<UpstreamAttempt> attempts_;
  UpstreamAttempt* fallback_ = nullptr;   // its response is forwarded if no attempt succeeds
  UpstreamAttempt* responder_ = nullptr;  // its response is forwarded
  std::optional<Tunnel> tunnel_;
  boost::intrusive::list_member_hook<> hook_;  // in the factory's list
  boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>
      buffering_hook_;
  Instant progressed_{};  // in the state `buffering`: when the last byte of the body arrived
};

// A RequestFactory creates a ProxiedRequest for each request that begins on one loop. It has what
// they share: the routes, the access log, scratch memory, and requests kept for reuse.
//
// Lifetime: the loop and the log outlive it. It outlives the ListenerSinks that call on_request().
// Thread safety: none; one loop.
// Cost: up to kMostSpare unused requests are kept.
class RequestFactory final : private http::Loop::TurnEnd {
 public:
  RequestFactory(http::Loop& loop, std::shared_ptr<const LoopTable> table, AccessSink& log)
      : TurnEnd(loop), loop_(loop), log_(log), table_(std::move(table)), waiting_(loop) {
    spare_.reserve(kMostSpare);
  }
  ~RequestFactory() override {
    requests_.clear_and_dispose([](ProxiedRequest* request) {
      request->abandon();
      delete request;
    });
  }

  [[nodiscard]] http::StreamUser& on_request(http::Stream& stream, const ListenerRules& rules) {
    ProxiedRequest* request = nullptr;
    if (spare_.empty()) {
      request = new ProxiedRequest(*this);
    } else {
      request = spare_.back().release();
      spare_.pop_back();
    }
    requests_.push_front(*request);
    request->begin(stream, table_, rules);
    return *request;
  }
  // For requests that begin from now on.
  void use(std::shared_ptr<const LoopTable> table) { table_ = std::move(table); }
  void on_refused(const http::RefusedRequest& refused) {
    log_.on_request_refused({.client = refused.peer.address,
                             .protocol = refused.peer.protocol,
                             .status = refused.status,
                             .ended = refused.reason,
                             .took = between(refused.began, refused.now)});
  }
  // The process drains: health pages say so.
  void set_draining() noexcept { draining_ = true; }
  [[nodiscard]] std::size_t under_way() const noexcept { return requests_.size() - ended_.size(); }

 private:
  friend class ProxiedRequest;
  static constexpr std::size_t kMostSpare = 256;
  static constexpr Duration kStalled = std::chrono::seconds(1);
  using Requests = boost::intrusive::list<
      ProxiedRequest, boost::intrusive::member_hook<ProxiedRequest, decltype(ProxiedRequest::hook_),
                                                    &ProxiedRequest::hook_>>;
  using Buffering = boost::intrusive::list<
      ProxiedRequest,
      boost::intrusive::member_hook<ProxiedRequest, decltype(ProxiedRequest::buffering_hook_),
                                    &ProxiedRequest::buffering_hook_>,
      boost::intrusive::constant_time_size<false>>;

  // A request that waits for its body has more of it.
  void on_progress(ProxiedRequest& request, Instant now) {
    request.buffering_hook_.unlink();
    request.progressed_ = now;
    if (request.kept_ > 0) buffering_.push_back(request);  // Else its end would make no room.
  }
  // Sheds the request that has waited longest for more of its body, if that is kStalled or longer.
  [[nodiscard]] bool try_shed_stalled(Instant now) {
    if (buffering_.empty() || between(buffering_.front().progressed_, now) < kStalled) return false;
    buffering_.front().shed_stalled(now);
    return true;
  }
  void on_over(ProxiedRequest& request) {
    ended_.push_back(&request);
    ask_turn_end();
  }
  // No function of a request is on the stack.
  void on_turn_end() override {
    for (ProxiedRequest* const request : ended_) {
      requests_.erase(Requests::s_iterator_to(*request));
      std::unique_ptr<ProxiedRequest> owned(request);
      owned->recycle();
      if (spare_.size() < kMostSpare) spare_.push_back(std::move(owned));
    }
    ended_.clear();
  }

  http::Loop& loop_;
  AccessSink& log_;
  std::shared_ptr<const LoopTable> table_;
  http::WaitingLine waiting_;
  bool draining_ = false;
  ForwardFields forward_;
  ResponseFields response_fields_;      // of the response that is being sent
  std::string path_;                    // of the request whose head is being read
  std::vector<http::Field> fields_;     // of the request that is being read
  std::string set_cookie_;              // of the response that is being sent
  Requests requests_;                   // in use
  Buffering buffering_;                 // of these, that wait for their body: the longest first
  std::vector<ProxiedRequest*> ended_;  // of these, those that ended in this turn
  std::vector<std::unique_ptr<ProxiedRequest>> spare_;
};

inline AnswerEdits ProxiedRequest::answer_edits() const noexcept {
  return {&factory_.response_fields_, &config().response_fields, field_context()};
}

// A ListenerSink is the sink of one listener on one loop: its requests are the factory's, with the
// listener's rules.
//
// Lifetime: the factory outlives it. It outlives the listener's servers.
// Thread safety: none; one loop.
class ListenerSink final : public http::RequestSink {
 public:
  ListenerSink(RequestFactory& factory, ListenerRules rules)
      : factory_(factory), rules_(std::move(rules)) {}

  [[nodiscard]] http::StreamUser& on_request(http::Stream& stream) override {
    return factory_.on_request(stream, rules_);
  }
  void on_refused(const http::RefusedRequest& refused) override { factory_.on_refused(refused); }
  // For requests that begin from now on.
  void use(ListenerRules rules) { rules_ = std::move(rules); }

 private:
  RequestFactory& factory_;
  ListenerRules rules_;
};

}  // namespace damper::proxy
