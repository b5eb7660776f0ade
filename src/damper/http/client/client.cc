#include "damper/http/client/client.h"

#include <algorithm>

#include "damper/base/check.h"
#include "damper/http/client/http_result.h"
#include "damper/http/client/round_trip.h"
#include "damper/http/client/url.h"

namespace damper::http {

// One request of a Client. It owns itself until it has called its completion.
class Fetch final : public RoundTrip, public Cancellable {
 public:
  using Told = Completion<Result<Response>>;

  Fetch(Client& client, Request&& request, std::unique_ptr<Told> completion)
      : client_(client),
        request_(std::move(request)),
        completion_(std::move(completion)),
        clock_(client.loop(), *this, &Fetch::on_timeout) {
    client_.fetches_.push_back(*this);
  }

  static void begin(Client& client, Pool& pool, Request&& request, Instant deadline,
                    std::unique_ptr<Told> completion) {
    auto* const fetch = new Fetch(client, std::move(request), std::move(completion));
    fetch->completion_->listen(*fetch);
    fetch->clock_.arm(deadline);
    fetch->start(pool, fetch->request_, client.options_.max_response_body);
  }

  void cancel() override {
    RoundTrip::cancel();
    on_round_trip(CloseReason::cancelled);
  }

 private:
  std::span<const Field> fields(const Request& request, Instant /*now*/) override {
    return request.fields.view();
  }

  void on_timeout(Instant /*now*/) {
    RoundTrip::cancel(true);
    on_round_trip(CloseReason::head_timeout);
  }

  void on_round_trip(CloseReason reason) override {
    std::unique_ptr<Told> completion = std::move(completion_);
    Result<Response> result = reason == CloseReason::finished
                                  ? Result<Response>(std::move(response()))
                                  : Result<Response>(unexpected(failure(reason)));
    delete this;
    Told::complete(std::move(completion), std::move(result));
  }

  Client& client_;
  const Request request_;
  std::unique_ptr<Told> completion_;
  Loop::MemberTimer<Fetch> clock_;
};

Client::Client(Loop& loop, const ClientOptions& options)
    : loop_(loop), options_(options), dialer_(loop, options.dialer, options.resolver) {
  DAMPER_CHECK_VALID(find_error(options));
}

Client::~Client() {
  while (!fetches_.empty()) fetches_.front().cancel();
}

void Client::start(Request&& request, Instant deadline,
                   std::unique_ptr<Completion<Result<Response>>> completion) {
  Pool* const pool = find_pool(request.scheme, request.authority);
  if (pool == nullptr || !(valid_target(request.target) || request.target == "*")) {
    Failure failure = failure_of(CloseReason::too_many, false);
    if (pool != nullptr || !parse_endpoint(request.scheme + "://" + request.authority)) {
      failure = failure_of(CloseReason::malformed, false);
      failure.report.outcome = decide::Outcome::permanent;
    }
    return Fetch::Told::complete(std::move(completion), unexpected(std::move(failure)));
  }
  if (deadline == kNever) deadline = add(loop_.now(), options_.timeout);
  Fetch::begin(*this, *pool, std::move(request), deadline, std::move(completion));
}

void Client::open(const Endpoint& endpoint, PoolUser& user) {
  Pool* const pool = find_pool(endpoint);
  if (pool == nullptr) return Pool::refuse(user, CloseReason::too_many);
  pool->open(user);
}

Pool* Client::find_pool(std::string_view scheme, std::string_view authority) {
  const bool tls = scheme == "https";
  if (!tls && scheme != "http") return nullptr;
  const Pools& pools = pools_[tls ? 1 : 0];
  if (const auto found = pools.find(authority); found != pools.end()) return found->second.get();
  const auto endpoint = parse_endpoint(std::string(scheme) + "://" + std::string(authority));
  return endpoint ? find_pool(*endpoint) : nullptr;
}

Pool* Client::find_pool(const Endpoint& endpoint) {
  Pools& all = pools_[endpoint.tls ? 1 : 0];
  const std::string authority = endpoint.authority();
  if (const auto found = all.find(authority); found != all.end()) return found->second.get();
  if (pools() >= options_.max_endpoints) make_room();
  if (pools() >= options_.max_endpoints) return nullptr;
  if (endpoint.tls && !tls_) {
    Expected<TlsSettings> settings = TlsSettings::for_client(options_.tls);
    if (!settings) return nullptr;
    tls_ = *std::move(settings);
  }
  auto pool = std::make_unique<Pool>(dialer_, endpoint, options_.pool,
                                     endpoint.tls ? &*tls_ : nullptr, metrics_);
  return all.emplace(authority, std::move(pool)).first->second.get();
}

// Removes the pools without connections and without waiting requests. If there are none, the one
// whose connections have been idle for longest.
void Client::make_room() {
  for (Pools& pools : pools_) {
    std::erase_if(pools, [](const auto& entry) {
      return entry.second->connections() == 0 && entry.second->is_unused();
    });
  }
  if (pools() < options_.max_endpoints) return;
  Pools* of = nullptr;
  Pools::iterator oldest;
  for (Pools& all : pools_) {
    for (auto one = all.begin(); one != all.end(); ++one) {
      if (!one->second->is_unused()) continue;
      if (of != nullptr && one->second->last_used() >= oldest->second->last_used()) continue;
      of = &all;
      oldest = one;
    }
  }
  if (of != nullptr) of->erase(oldest);
}

Request make_request(std::string method, const Url& url, std::string body) {
  Request request;
  request.method = std::move(method);
  request.scheme = url.endpoint.scheme();
  request.authority = url.endpoint.authority();
  request.target = url.target;
  request.body = std::move(body);
  return request;
}

}  // namespace damper::http
