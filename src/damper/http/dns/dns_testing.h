#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "damper/http/dns/dns_message.h"
#include "damper/http/dns/dns_server.h"

namespace damper::http {

// Messages of DNS servers, byte by byte.

inline std::string wire16(unsigned value) {
  return {static_cast<char>(value >> 8 & 0xff), static_cast<char>(value & 0xff)};
}
inline std::string wire32(std::uint32_t value) { return wire16(value >> 16) + wire16(value); }
inline std::string wire_name(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::string_view label = name.substr(0, name.find('.'));
    out += static_cast<char>(label.size());
    out += label;
    name.remove_prefix(std::min(name.size(), label.size() + 1));
  }
  return out + '\0';
}
inline std::string wire_pointer(unsigned to) { return wire16(0xc000 | to); }
inline std::string wire_address(const std::string& address) {
  const IpAddress read = IpAddress::find(address).value();
  return {reinterpret_cast<const char*>(read.bytes().data()), read.bits() / 8};
}
inline std::string wire_record(const std::string& owner, unsigned type, std::uint32_t ttl,
                               const std::string& data) {
  return owner + wire16(type) + wire16(1) + wire32(ttl) +
         wire16(static_cast<unsigned>(data.size())) + data;
}
inline std::string address_record(std::string_view owner, std::uint32_t ttl,
                                  const std::string& address) {
  const bool v6 = address.find(':') != std::string::npos;
  return wire_record(wire_name(owner), v6 ? 28 : 1, ttl, wire_address(address));
}
inline std::string alias_record(std::string_view owner, std::uint32_t ttl,
                                std::string_view target) {
  return wire_record(wire_name(owner), 5, ttl, wire_name(target));
}
inline std::string srv_record(std::string_view owner, std::uint32_t ttl, const SrvRecord& srv) {
  return wire_record(
      wire_name(owner), 33, ttl,
      wire16(srv.priority) + wire16(srv.weight) + wire16(srv.port) + wire_name(srv.target));
}
inline std::string authority_record(std::string_view owner, std::uint32_t ttl,
                                    std::uint32_t minimum) {
  return wire_record(
      wire_name(owner), 6, ttl,
      wire_name("ns.test") + wire_name("admin.test") + std::string(16, '\1') + wire32(minimum));
}

struct TestAnswer {
  std::vector<std::string> records{};
  std::vector<std::string> authorities{};
  unsigned code = 0;
  bool truncated = false;  // over UDP
  bool silent = false;     // The query is counted and not answered.
};

inline constexpr unsigned kTestFlags = 0x8180;  // an answer; recursion desired and available

inline std::string wire_message(unsigned id, unsigned flags, const DnsQuestion& question,
                                const std::vector<std::string>& records,
                                const std::vector<std::string>& authorities = {}) {
  std::string out =
      wire16(id) + wire16(flags) + wire16(1) + wire16(static_cast<unsigned>(records.size())) +
      wire16(static_cast<unsigned>(authorities.size())) + wire16(0) + wire_name(question.name) +
      wire16(static_cast<unsigned>(question.type)) + wire16(1);
  for (const std::string& record : records) out += record;
  for (const std::string& record : authorities) out += record;
  return out;
}

// A DNS server on a port of the loopback, over UDP and TCP, on a thread of its own. A name without
// an answer does not exist; of a name with one, other types have no data.
class TestDnsServer {
 public:
  TestDnsServer() {
    // The port that UDP gets may be in use over TCP.
    for (int i = 0; i < 20 && tcp_ < 0; ++i) {
      if (udp_ >= 0) ::close(udp_);
      udp_ = bound(SOCK_DGRAM, 0);
      port_ = port_of(udp_);
      tcp_ = bound(SOCK_STREAM, port_);
    }
    EXPECT_GE(tcp_, 0);
    EXPECT_EQ(::listen(tcp_, 16), 0);
    thread_ = std::thread([this] { run(); });
  }
  TestDnsServer(const TestDnsServer&) = delete;
  TestDnsServer& operator=(const TestDnsServer&) = delete;
  ~TestDnsServer() { stop(); }

  // Closes its port.
  void stop() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(stop_, &one, sizeof(one)), 8);
    thread_.join();
    for (const int fd : {udp_, tcp_, stop_}) ::close(fd);
  }

  [[nodiscard]] DnsServer server() const {
    return {.address = IpAddress(IpAddress::V4{127, 0, 0, 1}), .port = port_};
  }

  void set(const DnsQuestion& question, TestAnswer answer) {
    const std::lock_guard lock(mutex_);
    answers_[question] = std::move(answer);
  }
  void set_addresses(const std::string& name, std::uint32_t ttl,
                     const std::vector<std::string>& addresses) {
    TestAnswer v4;
    TestAnswer v6;
    for (const std::string& one : addresses) {
      TestAnswer& answer = one.find(':') == std::string::npos ? v4 : v6;
      answer.records.push_back(address_record(name, ttl, one));
    }
    set({name, DnsType::a}, std::move(v4));
    set({name, DnsType::aaaa}, std::move(v6));
  }
  void set_service(const std::string& name, std::uint32_t ttl,
                   const std::vector<SrvRecord>& services) {
    TestAnswer answer;
    for (const SrvRecord& one : services) answer.records.push_back(srv_record(name, ttl, one));
    set({name, DnsType::srv}, std::move(answer));
  }
  // Every query has this RCODE from now on; 0: none.
  void fail_with(unsigned code) {
    const std::lock_guard lock(mutex_);
    code_ = code;
  }

  // Queries are kept, and answered by release().
  void hold() {
    const std::lock_guard lock(mutex_);
    holds_ = true;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    holds_ = false;
    for (const Query& query : held_) answer(query);
    held_.clear();
  }

  // Before each answer over UDP: datagrams from this server with another id and with another
  // question, some that are no messages, and an answer from another port. All say 6.6.6.6.
  void forge(std::size_t times) {
    const std::lock_guard lock(mutex_);
    forged_ = times;
  }

  struct Seen {
    DnsQuestion question;
    unsigned id = 0;
    std::uint16_t port = 0;  // of the client
    bool tcp = false;
  };
  [[nodiscard]] std::vector<Seen> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  [[nodiscard]] std::size_t queries() const { return seen().size(); }

 private:
  struct Query {
    Seen of;
    sockaddr_in from{};
    int connection = -1;
  };

  static int bound(int type, std::uint16_t port) {
    const int fd = ::socket(AF_INET, type | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof(at)) == 0) return fd;
    ::close(fd);
    return -1;
  }
  static std::uint16_t port_of(int fd) {
    sockaddr_in at{};
    socklen_t size = sizeof(at);
    EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size), 0);
    return ntohs(at.sin_port);
  }

  void run() {
    for (;;) {
      std::array<pollfd, 3> fds = {{{udp_, POLLIN, 0}, {tcp_, POLLIN, 0}, {stop_, POLLIN, 0}}};
      if (::poll(fds.data(), fds.size(), -1) < 0) continue;
      if (fds[2].revents != 0) return;
      if (fds[0].revents != 0) on_datagram();
      if (fds[1].revents != 0) on_connection();
    }
  }
  void on_datagram() {
    std::array<char, 600> buffer{};
    Query query;
    socklen_t size = sizeof(query.from);
    const ssize_t got = ::recvfrom(udp_, buffer.data(), buffer.size(), 0,
                                   reinterpret_cast<sockaddr*>(&query.from), &size);
    if (got > 0) on_query({buffer.data(), static_cast<std::size_t>(got)}, query);
  }
  void on_connection() {
    Query query;
    query.connection = ::accept(tcp_, nullptr, nullptr);
    std::array<char, 600> buffer{};
    const ssize_t got = ::recv(query.connection, buffer.data(), buffer.size(), 0);
    if (got > 2) on_query({buffer.data() + 2, static_cast<std::size_t>(got) - 2}, query);
    ::close(query.connection);
  }
  void on_query(std::string_view bytes, Query& query) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes.at(i)); };
    std::size_t at = 12;
    while (byte(at) != 0) {
      if (at > 12) query.of.question.name += '.';
      query.of.question.name += bytes.substr(at + 1, byte(at));
      at += byte(at) + 1U;
    }
    query.of.question.type = static_cast<DnsType>(byte(at + 1) << 8 | byte(at + 2));
    query.of.id = static_cast<unsigned>(byte(0) << 8 | byte(1));
    query.of.port = ntohs(query.from.sin_port);
    query.of.tcp = query.connection >= 0;
    const std::lock_guard lock(mutex_);
    seen_.push_back(query.of);
    if (holds_ && query.connection < 0) return held_.push_back(query);
    answer(query);
  }

  // Under mutex_.
  void answer(const Query& query) {
    const DnsQuestion& question = query.of.question;
    TestAnswer with{.code = 3};
    const auto known = std::find_if(answers_.begin(), answers_.end(), [&](const auto& entry) {
      return entry.first.name == question.name;
    });
    if (known != answers_.end()) with.code = 0;
    if (const auto found = answers_.find(question); found != answers_.end()) with = found->second;
    if (code_ != 0) with = {.code = code_};
    if (with.silent) return;
    const bool tcp = query.connection >= 0;
    const bool truncated = with.truncated && !tcp;
    if (truncated) with.records.clear();
    const std::string message =
        wire_message(query.of.id, kTestFlags | with.code | (truncated ? 0x0200U : 0U), question,
                     with.records, with.authorities);
    if (tcp) {
      // In two parts.
      const std::string framed = wire16(static_cast<unsigned>(message.size())) + message;
      EXPECT_EQ(::send(query.connection, framed.data(), 1, MSG_NOSIGNAL), 1);
      return (void)::send(query.connection, framed.data() + 1, framed.size() - 1, MSG_NOSIGNAL);
    }
    for (std::size_t i = 0; i < forged_; ++i) send_forged(query, i);
    send(udp_, query, message);
  }
  void send_forged(const Query& query, std::size_t number) const {
    const DnsQuestion& question = query.of.question;
    const std::vector<std::string> records = {address_record(question.name, 60, "6.6.6.6")};
    const unsigned wrong_id = query.of.id ^ (1U << number % 16);
    switch (number % 4) {
      case 0: return send(udp_, query, wire_message(wrong_id, kTestFlags, question, records));
      case 1:
        return send(
            udp_, query,
            wire_message(query.of.id, kTestFlags, {"x" + question.name, question.type}, records));
      case 2: return send(udp_, query, "x");
      default: {
        const int other = bound(SOCK_DGRAM, 0);
        send(other, query, wire_message(query.of.id, kTestFlags, question, records));
        ::close(other);
      }
    }
  }
  static void send(int fd, const Query& query, const std::string& bytes) {
    (void)::sendto(fd, bytes.data(), bytes.size(), 0,
                   reinterpret_cast<const sockaddr*>(&query.from), sizeof(query.from));
  }

  int udp_ = -1;
  int tcp_ = -1;
  const int stop_ = ::eventfd(0, EFD_CLOEXEC);
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;  // for what follows
  std::map<DnsQuestion, TestAnswer> answers_;
  unsigned code_ = 0;
  bool holds_ = false;
  std::vector<Query> held_;
  std::size_t forged_ = 0;
  std::vector<Seen> seen_;
  std::thread thread_;
};

}  // namespace damper::http
