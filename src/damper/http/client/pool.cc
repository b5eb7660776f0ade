#include "damper/http/client/pool.h"

#include <algorithm>
#include <utility>

#include "damper/base/check.h"
#include "damper/http/net/socket_connection.h"

namespace damper::http {

class Pool::Link final : public SocketConnection::Owner {
 public:
  Link(Pool& pool, std::unique_ptr<Transport> transport)
      : is_alone(pool.protocol_ != Protocol::h2),
        pool_(pool),
        connection_(pool.loop(), std::move(transport), *this, SocketConnection::Side::client) {
    const ConnectionLimits& limits = pool.options_.limits;
    const Instant now = pool.loop().now();
    connection_.start(pool.protocol_ == Protocol::h2 ? make_h2_client(limits, connection_, now)
                                                     : make_h1_client(limits, connection_, now));
  }

  [[nodiscard]] Connection& codec() noexcept { return connection_.codec(); }
  // Its time was over: a connection that has been silent since then may lead nowhere. Its other
  // streams stay, and it gets no new ones.
  void on_late(const Stream& stream) {
    if (connection_.last_received() <= stream.began()) connection_.drain();
  }

  void drain() {
    if (!std::exchange(draining_, true)) connection_.drain();
  }

  const bool is_alone;   // HTTP/1.1: a stream has the connection to itself
  bool is_free = false;  // it is in the pool's list
  bool is_idle = false;  // it has no stream, and is counted so
  bool is_detached = false;
  bool is_held = false;

 private:
  void on_closed(SocketConnection& /*connection*/, CloseReason reason) override {
    pool_.on_link_over(*this, reason);
  }
  void on_turned(SocketConnection& /*connection*/) override { pool_.on_turned(*this); }

  Pool& pool_;
  SocketConnection connection_;
  bool draining_ = false;
};

std::optional<std::string> find_error(const PoolOptions& options) {
  return BoundsCheck()
      .field("max_connections", options.max_connections, options.kMaxConnections)
      .field("max_waiting", options.max_waiting, options.kMaxWaiting)
      .field("max_held", options.max_held, options.kMaxHeld)
      .require(options.plain != Protocol::unknown, "plain is unknown; it must be h1 or h2")
      .part("limits", find_error(options.limits))
      .error();
}

Pool::Pool(Dialer& dialer, const Endpoint& endpoint, const PoolOptions& options,
           const TlsSettings* tls, ClientMetrics& metrics)
    : dialer_(dialer),
      endpoint_(endpoint),
      authority_(endpoint.authority()),
      options_(options),
      tls_(tls),
      metrics_(metrics),
      protocol_(tls == nullptr ? options.plain : Protocol::unknown) {
  DAMPER_CHECK_VALID(find_error(options));
  DAMPER_CHECK(endpoint.tls == (tls != nullptr));
}

Pool::~Pool() {
  closing_ = true;
  dials_.clear();
  fail_waiting(queue_.size(), CloseReason::cancelled);
  free_.clear();
  for (const auto& link : connections_) {
    set_held(*link, false);
    ClientMetrics::take(metrics_.connections);
    ClientMetrics::add(metrics_.closed, CloseReason::cancelled);
    if (link->is_idle) ClientMetrics::take(metrics_.idle);
  }
  connections_.clear();
}

// A connection counts as idle from the end of a turn on: none of its calls is under way then.
bool Pool::is_unused() const noexcept {
  return leases_ == 0 && !reporting_ && dials_.empty() && queue_.empty() &&
         std::all_of(connections_.begin(), connections_.end(),
                     [](const auto& link) { return link->is_idle; });
}

std::size_t Pool::idle() const noexcept {
  return static_cast<std::size_t>(std::count_if(connections_.begin(), connections_.end(),
                                                [](const auto& link) { return link->is_idle; }));
}

void Pool::retire() {
  retired_ = true;
  if (!queue_.empty()) return;  // Connections are drained when the queue is empty.
  for (const auto& link : connections_) link->drain();
}

void Pool::open(PoolUser& user) {
  DAMPER_CHECK(user.pool_ == nullptr);
  if (closing_) return user.on_over(CloseReason::cancelled, true);
  if (queue_.empty()) {
    if (Link* const link = find_free()) return lend(*link, user);
  }
  // Those whom a new connection would serve do not count as waiting.
  const std::size_t room = options_.max_connections - std::min(options_.max_connections, pooled());
  if (queue_.size() >= options_.max_waiting + room) {
    ClientMetrics::add(metrics_.refused);
    return user.on_over(CloseReason::too_many, true);
  }
  enqueue(user);
  dial_if_needed();
}

Pool::Link* Pool::find_free() {
  while (!free_.empty()) {
    Link* const link = free_.back();
    if (link->codec().can_open()) return link;
    link->is_free = false;
    free_.pop_back();
  }
  return nullptr;
}

void Pool::lend(Link& link, PoolUser& user) {
  if (std::exchange(link.is_idle, false)) ClientMetrics::take(metrics_.idle);
  user.pool_ = this;
  user.link_ = &link;
  last_used_ = loop().now();
  user.stream_ = &link.codec().open(user, last_used_);
  user.on_open(*user.stream_);
}

void Pool::make_free(Link& link) {
  if (link.is_free || closing_ || !link.codec().can_open()) return;
  if (is_over_bound()) return;  // It is closed at the end of the turn.
  link.is_free = true;
  free_.push_back(&link);
}

void Pool::on_stream_over(Link& link) {
  set_held(link, false);
  make_free(link);
  serve();
}

void Pool::on_turned(Link& link) {
  const bool idle = link.codec().streams() == 0;
  if (idle != link.is_idle) {
    link.is_idle = idle;
    idle ? ClientMetrics::add(metrics_.idle) : ClientMetrics::take(metrics_.idle);
  }
  make_free(link);
  serve();
  if ((retired_ && queue_.empty()) || (idle && is_over_bound())) link.drain();
}

void Pool::on_link_over(Link& link, CloseReason reason) {
  ClientMetrics::take(metrics_.connections);
  ClientMetrics::add(metrics_.closed, reason);
  if (link.is_idle) ClientMetrics::take(metrics_.idle);
  if (link.is_free) std::erase(free_, &link);
  if (link.is_detached) --detached_;
  set_held(link, false);
  std::erase_if(connections_, [&](const auto& held) { return held.get() == &link; });
  dial_if_needed();
}

// HTTP/2 streams share their connection, which stays in use.
void Pool::detach(Link& link) {
  if (!link.is_alone || link.is_detached) return;
  set_held(link, false);
  link.is_detached = true;
  ++detached_;
  dial_if_needed();
}

void Pool::set_held(Link& link, bool held) {
  if (link.is_detached || link.is_held == held) return;
  // A hold ends whatever the endpoint speaks by now.
  if (held && (!link.is_alone || held_ >= options_.max_held)) return;
  if (options_.held != nullptr) {
    if (!held) options_.held->give_back();
    if (held && options_.held->try_take() == 0) return;
  }
  link.is_held = held;
  if (held) {
    ++held_;
    ClientMetrics::add(metrics_.held);
    dial_if_needed();
  } else {
    --held_;
    ClientMetrics::take(metrics_.held);
  }
}

// ---- The queue -------------------------------------------------------------------------------

void Pool::enqueue(PoolUser& user) noexcept {
  user.pool_ = this;
  queue_.push_back(user);
  ClientMetrics::add(metrics_.waiting);
}

void Pool::unlink(PoolUser& user) noexcept {
  queue_.erase(Queue::s_iterator_to(user));
  user.pool_ = nullptr;
  ClientMetrics::take(metrics_.waiting);
}

void Pool::serve() {
  while (!queue_.empty()) {
    Link* const link = find_free();
    if (link == nullptr) return;
    PoolUser& user = queue_.front();
    unlink(user);
    lend(*link, user);
  }
}

// on_over() may re-enter open(); requests queued by it are not failed again.
void Pool::fail_waiting(std::size_t count, CloseReason reason) {
  for (count = std::min(count, queue_.size()); count > 0 && !queue_.empty(); --count) {
    PoolUser& user = queue_.front();
    unlink(user);
    user.on_over(reason, true);
  }
}

// ---- New connections -------------------------------------------------------------------------

// How many waiting requests one new connection is enough for, as far as it is known.
std::size_t Pool::streams_a_dial() const noexcept {
  if (protocol_ == Protocol::unknown) return options_.max_waiting + options_.max_connections;
  return protocol_ == Protocol::h2 ? options_.limits.max_streams : 1;
}

void Pool::dial_if_needed() {
  while (!closing_ && dials_.size() * streams_a_dial() < queue_.size() &&
         pooled() + dials_.size() < options_.max_connections) {
    const auto dial = dials_.emplace(dials_.end());
    *dial = dialer_.dial(
        endpoint_.host, endpoint_.port, tls_,
        [this, dial](Dialer::Result result) { on_dialed(dial, std::move(result)); },
        endpoint_.address);
  }
}

void Pool::on_dialed(Dials::iterator dial, Dialer::Result result) {
  reporting_ = true;
  const std::size_t served = streams_a_dial();
  dials_.erase(dial);
  if (result.transport == nullptr) {
    ClientMetrics::add(metrics_.failed_dials, result.reason);
    if (result.reason == CloseReason::address_refused) refusal_ = std::move(result.refusal);
    fail_waiting(served, result.reason);
    dial_if_needed();
    reporting_ = false;
    return;
  }
  if (tls_ != nullptr) {
    protocol_ = result.transport->protocol() == Protocol::h2 ? Protocol::h2 : Protocol::h1;
  }
  ClientMetrics::add(metrics_.opened);
  ClientMetrics::add(metrics_.connections);
  result.transport->set_send_timeout(options_.limits.write_timeout);
  connections_.push_back(std::make_unique<Link>(*this, std::move(result.transport)));
  make_free(*connections_.back());
  serve();
  dial_if_needed();  // It may speak a protocol that needs more of them.
  reporting_ = false;
}

// ---- Users -----------------------------------------------------------------------------------

void PoolUser::on_close(CloseReason reason) {
  const bool unsent = !stream_->touched_wire();
  stream_ = nullptr;
  Pool& pool = *std::exchange(pool_, nullptr);
  pool.on_stream_over(*static_cast<Pool::Link*>(std::exchange(link_, nullptr)));
  on_over(reason, unsent);
}

void PoolUser::detach() {
  if (stream_ != nullptr) pool_->detach(*static_cast<Pool::Link*>(link_));
}

void PoolUser::set_held(bool held) {
  if (stream_ != nullptr) pool_->set_held(*static_cast<Pool::Link*>(link_), held);
}

void PoolUser::cancel_late() {
  if (stream_ != nullptr) static_cast<Pool::Link*>(link_)->on_late(*stream_);
  cancel();
}

void PoolUser::cancel() {
  if (pool_ == nullptr) return;
  if (stream_ == nullptr) return pool_->unlink(*this);
  pool_ = nullptr;
  link_ = nullptr;
  std::exchange(stream_, nullptr)->cancel();  // The end of the turn sees to the rest.
}

}  // namespace damper::http
