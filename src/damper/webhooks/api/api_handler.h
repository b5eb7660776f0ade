#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/base/expected.h"
#include "damper/base/unix_time.h"
#include "damper/http/net/egress_guard.h"
#include "damper/http/server/handler.h"
#include "damper/http/server/local_access.h"
#include "damper/webhooks/api/api_error.h"
#include "damper/webhooks/api/api_tokens.h"
#include "damper/webhooks/api/redrive_job.h"
#include "damper/webhooks/api/routes.h"
#include "damper/webhooks/dispatch/deliveries.h"
#include "damper/webhooks/dispatch/directory.h"
#include "damper/webhooks/model/id.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

struct ApiOptions {
  bool loopback = true;                              // The listener's address is loopback.
  std::vector<std::string> names{};                  // of Host on loopback, beside localhost
  std::optional<ApiTokens> tokens{};                 // required when it is not loopback
  std::size_t max_payload = std::size_t{256} << 10;  // bytes; 1 KiB to 16 MiB
  // Requests that wait for the store; one more is answered 503. 1 to 1,000,000.
  std::size_t max_waiting = 4096;
  std::size_t max_applications = 10'000;
  std::size_t max_endpoints = 100'000;       // of all applications
  std::optional<http::EgressGuard> guard{};  // of URLs; the dispatcher's dialer has the same
  std::string version = "0";                 // of the OpenAPI document
  // Gets why the store could not serve a request, and the reference that its answer has instead: a
  // client is not to see paths, hosts and SQL.
  std::function<void(std::string_view reference, std::string_view sentence)> on_store_error{};
};

// One sentence on what is wrong with the options; nothing when they are valid.
[[nodiscard]] std::optional<std::string> find_error(const ApiOptions& options);

// The bodies of requests that an http::HandlerService has to accept.
[[nodiscard]] std::size_t max_request_body(const ApiOptions& options) noexcept;

// An ApiHandler answers the dispatcher's HTTP API: JSON in and out, by the routes of routes.h.
//
//   ApiHandler api(store, directory, deliveries, IdMaker(random), wall_clock, options);
//   http::HandlerService service(loop, api.handler(), {.max_request_body = ...});
//
// Model: a request is routed, its access checked, its body parsed; then the store is called. Its
// result is posted to the loop, where the directory and the dispatcher are updated and the request
// answered. Changes of the configuration are made one after the other: two that read the directory
// at once would lose one of them. An endpoint is removed from the directory before the store, so
// that no message is accepted for one whose deliveries were deleted.
// Invariants:
//   (1) A message is answered 202 only when the store has it.
//   (2) A token of one application gets 404 for everything of another, whether it exists or not.
//   (3) A request that is refused has changed nothing.
//   (4) At most max_waiting requests wait for the store.
//   (5) Statistics count the store's rows once in kCountAge at most, and one at a time.
// Thread safety: none; all on the loop's thread. Directory and deliveries outlive it, or close() is
// called first. It outlives the server, and the functions that were posted to the loop. The store
// has called every `done` before the loop is destroyed.
class ApiHandler {
 public:
  using WallClock = std::function<UnixTime()>;
  static constexpr std::chrono::seconds kCountAge{5};

  // REQUIRES: !find_error(options).
  ApiHandler(Store& store, Directory& directory, Deliveries& deliveries, IdMaker ids, WallClock now,
             ApiOptions options);
  ApiHandler(const ApiHandler&) = delete;
  ApiHandler& operator=(const ApiHandler&) = delete;

  [[nodiscard]] http::Handler handler() {
    return [this](const http::ExchangePtr& exchange) { answer(exchange); };
  }
  // Whether the request has a token that is valid, or needs none.
  [[nodiscard]] bool is_known(const http::Request& request) const;
  // From the next request on. REQUIRES: there were tokens before.
  void set_tokens(ApiTokens tokens) { options_.tokens = std::move(tokens); }

  // Disables an endpoint as `disabled` is, in turn with the changes by requests; not if it was
  // removed, disabled or given another URL meanwhile. `post` posts a function to the loop.
  void disable(const Endpoint& disabled, std::function<void(std::function<void()>)> post);

  // Results of the store that come from now on are dropped: deliveries and directory may be
  // destroyed before the functions that were posted to the loop.
  void close() noexcept { closed_ = true; }

  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
  [[nodiscard]] std::size_t queued_changes() const noexcept { return changes_.size(); }
  [[nodiscard]] std::size_t waiting_for_counts() const noexcept { return counting_.size(); }

 private:
  // A request that was routed and may be served.
  struct Call {
    http::ExchangePtr exchange;
    const Route* route = nullptr;
    std::string application;
    std::string id;
    std::string name{};    // of a switch
    std::string tenant{};  // the only application that its token is for; empty: all
    Page page{};
    std::string after{};  // of applications
    std::string type{};   // of messages
    std::optional<Id> endpoint{};
    // With another id, if a second process has made the same one; with other endpoints, if one has
    // changed the configuration.
    int repetitions = 3;
    bool refreshed = false;  // what other dispatchers have created was read
  };

  void answer(const http::ExchangePtr& exchange);
  [[nodiscard]] std::optional<ApiError> check_access(const http::Request& request,
                                                     const Route& route, Call& call) const;
  [[nodiscard]] std::optional<ApiError> read_query(std::string_view query, Call& call) const;
  void dispatch(const Call& call);
  void dispatch_endpoint(const Call& call);

  // api_endpoints.cc
  void list_applications(const Call& call);
  void create_application(const Call& call);
  void remove_application(const Call& call);
  void list_endpoints(const Call& call);
  void create_endpoint(const Call& call);
  void change_endpoint(const Call& call);
  void remove_endpoint(const Call& call);
  void rotate_secret(const Call& call);
  void revoke_secrets(const Call& call);
  // A change of the call's endpoint: `then` gets a copy, in turn, and ends with end_change().
  void change_known(const Call& call, std::function<void(Endpoint&&)> then);
  void put_endpoint(const Call& call, Endpoint endpoint, bool created);
  void on_written(const Endpoint& endpoint);
  [[nodiscard]] const Endpoint* find_endpoint(const Call& call) const;

  // api_messages.cc
  void send_message(const Call& call);
  void test_endpoint(const Call& call);
  void accept(const Call& call, NewMessage message);
  void list_messages(const Call& call);
  void get_message(const Call& call);
  void list_attempts(const Call& call, const AttemptFilter& filter);
  void list_message_attempts(const Call& call);
  void list_dead(const Call& call);
  void redrive(const Call& call);
  void get_stats(const Call& call);
  void respond_stats(const Call& call);
  void set_switch(const Call& call, const HoldScope& scope);
  // What is removed is not held any more, in the store neither. `of_others`: also a hold of which
  // this dispatcher does not know, because another one has set it.
  void forget_holds(const HoldScope& scope, bool of_others);

  // api_redrives.cc
  static constexpr std::size_t kMostRedrives = 100;  // that are remembered
  static constexpr std::size_t kMostRunning = 4;
  using RedriveJobPtr = std::shared_ptr<RedriveJob>;
  void create_redrive(const Call& call);
  void count_redrive(const Call& call, const RedriveJobPtr& job, std::size_t next);
  void begin_redrive(const Call& call, const RedriveJobPtr& job);
  void continue_redrive(const Call& call, const RedriveJobPtr& job);
  [[nodiscard]] RedriveJobPtr find_redrive(const Call& call) const;
  void get_redrive(const Call& call);
  void stop_redrive(const Call& call);
  void list_redrives(const Call& call);

  static void respond(const Call& call, std::string json);
  static void refuse(const Call& call, const ApiError& error);
  void refuse(const Call& call, const StoreError& error);
  // The neutral sentence of such an error; it is reported.
  [[nodiscard]] std::string report_unavailable(const StoreError& error);
  static void refuse_unknown(const Call& call, std::string_view what);
  [[nodiscard]] static ApiError unknown(const Call& call, std::string_view what);
  // Refuses it if it is still missing after what other dispatchers have created was read.
  void refuse_missing(const Call& call, const ApiError& error);

  // A store's `done` that calls `then` with the result on the loop.
  template <class T, class Then>
  [[nodiscard]] Store::Done<T> back(const Call& call, Then then);
  // The same for a result of which only an error is answered at once.
  template <class T, class Then>
  [[nodiscard]] Store::Done<T> back_if_good(const Call& call, Then then);

  // Calls `begin` when no other change is under way; it ends with end_change().
  void change(std::function<void()> begin);
  void end_change();

  Store& store_;
  Directory& directory_;
  Deliveries& deliveries_;
  IdMaker ids_;
  const WallClock now_;
  ApiOptions options_;
  const http::LocalAccess access_;
  std::size_t waiting_ = 0;
  bool closed_ = false;
  bool changing_ = false;
  std::deque<std::function<void()>> changes_;
  StoreCounts counts_;  // of the store, at counted_
  std::optional<UnixTime> counted_;
  std::vector<Call> counting_;          // wait for the count that is under way
  std::deque<RedriveJobPtr> redrives_;  // oldest first
  std::size_t running_redrives_ = 0;
};

}  // namespace damper::webhooks
