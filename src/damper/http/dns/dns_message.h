#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/enum_names.h"
#include "damper/base/instant.h"
#include "damper/http/net/ip_address.h"

namespace damper::http {

// Messages of DNS (RFC 1035) without I/O: a query is written, its answer is read.
//
// Names are in lower case and without the final dot; the root is empty.

enum class DnsType : std::uint16_t { a = 1, aaaa = 28, srv = 33 };

struct DnsQuestion {
  std::string name;
  DnsType type = DnsType::a;

  friend auto operator<=>(const DnsQuestion&, const DnsQuestion&) = default;
};

// How a query to one server ended.
enum class DnsResult : std::uint8_t {
  found,          // The answer has records of the type.
  no_data,        // The name exists, without records of the type.
  no_name,        // The name does not exist (NXDOMAIN).
  server_failed,  // The server refuses, or cannot find out: SERVFAIL, REFUSED and the like.
  malformed,      // An answer to the query that cannot be read.
  truncated,      // The answer does not fit into a datagram: the query is repeated over TCP.
  timed_out,
  unreachable,  // The query could not be sent, or nothing listens there.
};
inline constexpr EnumNames<DnsResult::unreachable> kDnsResultNames = {
    "found",     "no_data",   "no_name",   "server_failed",
    "malformed", "truncated", "timed_out", "unreachable"};
// Whether the server has said what there is: only then an answer replaces what was known.
[[nodiscard]] constexpr bool is_definite(DnsResult result) noexcept {
  return result == DnsResult::found || result == DnsResult::no_data || result == DnsResult::no_name;
}

// Where a service listens (RFC 2782).
struct SrvRecord {
  std::uint16_t priority = 0;
  std::uint16_t weight = 0;
  std::uint16_t port = 0;
  std::string target;  // empty: the root, which means that there is no such service

  friend auto operator<=>(const SrvRecord&, const SrvRecord&) = default;
};

struct DnsAnswer {
  DnsResult result = DnsResult::malformed;
  std::vector<IpAddress> addresses{};  // to a question for A or AAAA
  std::vector<SrvRecord> services{};   // to a question for SRV
  // The least of the records that were used, aliases included; of an answer without records the
  // time for which that may be kept (RFC 2308), or 0.
  Duration ttl{0};
};

inline constexpr std::size_t kMostDnsRecords = 1024;  // of an answer that are used
inline constexpr std::size_t kMostDnsAliases = 8;     // CNAMEs from the question to its records
inline constexpr std::size_t kMostDnsQueryBytes = 12 + 255 + 4;

// Whether it can be asked for: 1 to 253 bytes, labels of 1 to 63 visible ASCII characters.
[[nodiscard]] bool is_dns_name(std::string_view name) noexcept;

// A query that requests recursion. REQUIRES: is_dns_name(question.name).
[[nodiscard]] std::string write_query(const DnsQuestion& question, std::uint16_t id);

// The answer to a query with this id; nothing: the message is no answer to it, and is ignored.
//
// Why strict: a datagram may be from anybody. A name that a compression pointer continues must
// stand before it, so that there is no loop; a message is at most 64 KiB and is read once.
// Model: aliases are followed from the question within the answer section, in any order of its
// records. Records of other names are ignored, and so is the additional section: servers may leave
// out a part of it without a sign.
[[nodiscard]] std::optional<DnsAnswer> parse_answer(std::string_view message, std::uint16_t id,
                                                    const DnsQuestion& question);

}  // namespace damper::http
