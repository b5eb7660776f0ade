#include "damper/http/dns/dns_client.h"

#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "damper/base/check.h"
#include "damper/http/net/transport.h"

namespace damper::http {
namespace {

std::uint16_t random_id() {
  std::uint16_t id = 0;
  DAMPER_CHECK(::getrandom(&id, sizeof(id), 0) == sizeof(id));
  return id;
}

// A datagram socket to the server; -1: there is none.
int connect_to(const DnsServer& server) {
  sockaddr_storage to{};
  socklen_t size = sizeof(sockaddr_in);
  const IpAddress::V6& bytes = server.address.bytes();
  if (server.address.is_v6()) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(server.port);
    std::copy(bytes.begin(), bytes.end(), v6.sin6_addr.s6_addr);
    size = sizeof(v6);
    std::memcpy(&to, &v6, sizeof(v6));
  } else {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(server.port);
    std::memcpy(&v4.sin_addr, bytes.data(), sizeof(v4.sin_addr));
    std::memcpy(&to, &v4, sizeof(v4));
  }
  const int fd = ::socket(to.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), size) == 0) return fd;
  (void)::close(fd);
  return -1;
}

}  // namespace

// A question, with its queries one after the other.
class DnsClient::Exchange final : private Loop::Registration, private Transport::Waiter {
 public:
  Exchange(DnsClient& client, DnsQuestion question)
      : client_(client),
        question_(std::move(question)),
        options_(client.options_),
        first_(client.first_),
        timer_(client.loop_, *this, &Exchange::on_timer) {}
  ~Exchange() override { cancel(); }

  // Later: a question does not end within query().
  void start() { timer_.arm(client_.loop_.now()); }
  void cancel() noexcept {
    over_ = true;
    end_query();
  }

 private:
  void on_timer(Instant /*now*/) {
    if (!querying_) return query_next();
    on_answer({.result = DnsResult::timed_out});
  }

  [[nodiscard]] const DnsServer& server() const {
    return options_.servers[(first_ + queries_ - 1) % options_.servers.size()];
  }

  void query_next() {
    end_query();
    while (queries_ < options_.servers.size() * options_.attempts) {
      ++queries_;
      id_ = random_id();
      ignored_ = 0;
      const std::string query = write_query(question_, id_);
      fd_ = connect_to(server());
      if (fd_ >= 0 && client_.loop_.try_add(fd_, *this) &&
          ::send(fd_, query.data(), query.size(), MSG_NOSIGNAL) ==
              static_cast<ssize_t>(query.size())) {
        querying_ = true;
        timer_.arm(add(client_.loop_.now(), options_.timeout));
        return;
      }
      end_query();
      count(DnsResult::unreachable);
      last_.result = DnsResult::unreachable;
    }
    finish();
  }

  // A datagram, or the error that the last one has caused.
  void on_events(std::uint32_t /*events*/) override {
    const std::span<char> buffer = client_.loop_.scratch();
    for (;;) {
      const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (got < 0) return on_answer({.result = DnsResult::unreachable});
      const auto answer =
          parse_answer({buffer.data(), static_cast<std::size_t>(got)}, id_, question_);
      if (answer) return on_answer(*answer);
      client_.counts_.ignored.fetch_add(1, std::memory_order_relaxed);
      if (++ignored_ == kMostIgnored) return on_answer({.result = DnsResult::malformed});
    }
  }

  void on_answer(const DnsAnswer& answer) {
    count(answer.result);
    if (answer.result == DnsResult::truncated) return query_over_tcp();
    last_ = answer;
    if (!is_definite(answer.result)) return query_next();
    client_.first_ = (first_ + queries_ - 1) % options_.servers.size();
    finish();
  }

  void query_over_tcp() {
    end_query();
    querying_ = true;
    id_ = random_id();
    timer_.arm(add(client_.loop_.now(), options_.timeout));
    dial_ = client_.dialer_.dial(server().address.text(), server().port, nullptr,
                                 [this](Dialer::Result result) {
                                   if (result.transport == nullptr)
                                     return on_answer({.result = DnsResult::unreachable});
                                   transport_ = std::move(result.transport);
                                   send_over_tcp();
                                 });
  }
  void send_over_tcp() {
    const std::string query = write_query(question_, id_);
    std::string framed;
    framed += static_cast<char>(query.size() >> 8);
    framed += static_cast<char>(query.size() & 0xff);
    framed += query;
    const Transport::IoResult sent = transport_->send(framed);
    // A new connection has room for the few bytes of a query.
    if (sent.status != Transport::Status::ok || sent.bytes != framed.size()) {
      return on_answer({.result = DnsResult::unreachable});
    }
    transport_->wait_readable(*this);
  }
  void on_readable() override {
    for (;;) {
      const Transport::IoResult got = transport_->recv(client_.loop_.scratch());
      if (got.status == Transport::Status::again) return transport_->wait_readable(*this);
      if (got.status != Transport::Status::ok) {
        return on_answer({.result = DnsResult::unreachable});
      }
      received_.append(client_.loop_.scratch().data(), got.bytes);
      if (received_.size() < 2) continue;
      const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(received_[i]); };
      const std::size_t size = std::size_t{byte(0)} << 8 | byte(1);
      if (received_.size() < size + 2) continue;
      const auto answer = parse_answer(std::string_view(received_).substr(2, size), id_, question_);
      // Nothing else can arrive on this connection, and it has no need to truncate.
      if (!answer || answer->result == DnsResult::truncated) {
        return on_answer({.result = DnsResult::malformed});
      }
      return on_answer(*answer);
    }
  }
  void on_writable() override {}

  void count(DnsResult result) {
    client_.counts_.queries[static_cast<std::size_t>(result)].fetch_add(1,
                                                                        std::memory_order_relaxed);
  }
  // Closes what the query has open. The transport, which may be calling, is destroyed later.
  void end_query() noexcept {
    querying_ = false;
    timer_.cancel();
    dial_.reset();
    received_.clear();
    if (transport_ != nullptr) {
      transport_->close();
      closed_ = std::move(transport_);
    }
    if (fd_ < 0) return;
    client_.loop_.remove(fd_, *this);
    (void)::close(std::exchange(fd_, -1));
  }
  void finish() {
    if (over_) return;
    cancel();
    const DnsQuestion question = question_;
    const DnsAnswer answer = std::move(last_);
    client_.finish(question, answer);
  }

  DnsClient& client_;
  const DnsQuestion question_;
  const DnsClientOptions options_;
  const std::size_t first_;
  Loop::MemberTimer<Exchange> timer_;
  std::size_t queries_ = 0;  // to servers so far, over UDP
  bool querying_ = false;
  bool over_ = false;
  std::uint16_t id_ = 0;
  std::size_t ignored_ = 0;  // datagrams of this query
  int fd_ = -1;
  Dialer::Dial dial_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Transport> closed_;
  std::string received_;  // over TCP
  DnsAnswer last_;
};

DnsClient::DnsClient(Loop& loop, DnsCounts& counts)
    : loop_(loop), counts_(counts), dialer_(loop, DialerOptions{}) {}

DnsClient::~DnsClient() = default;

void DnsClient::use(const DnsClientOptions& options) {
  DAMPER_CHECK(!options.servers.empty());
  if (options.servers != options_.servers) first_ = 0;
  options_ = options;
}

void DnsClient::query(const DnsQuestion& question, Done done) {
  const auto [place, added] = pending_.try_emplace(question);
  place->second.waiting.push_back(std::move(done));
  if (!added) return;
  line_.push_back(question);
  start_next();
}

void DnsClient::start_next() {
  while (in_flight_ < kMostInFlight && !line_.empty()) {
    Pending& pending = pending_.at(line_.front());
    pending.exchange = std::make_shared<Exchange>(*this, line_.front());
    line_.pop_front();
    ++in_flight_;
    pending.exchange->start();
  }
}

void DnsClient::finish(const DnsQuestion& question, const DnsAnswer& answer) {
  const auto found = pending_.find(question);
  Pending over = std::move(found->second);
  pending_.erase(found);
  --in_flight_;
  start_next();
  // It is on the stack below.
  loop_.post([exchange = std::move(over.exchange)] {});
  for (const Done& done : over.waiting) done(answer);  // It may call query().
}

}  // namespace damper::http
