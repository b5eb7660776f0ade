// An answer of a DNS server, to a question of each type: what is read keeps its bounds.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "damper/http/dns/dns_message.h"

using damper::Duration;
using damper::http::DnsAnswer;
using damper::http::DnsQuestion;
using damper::http::DnsResult;
using damper::http::DnsType;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (size < 2) return 0;
  const auto id = static_cast<std::uint16_t>(data[0] << 8 | data[1]);
  for (const DnsType type : {DnsType::a, DnsType::aaaa, DnsType::srv}) {
    const DnsQuestion question{"_http._tcp.shop.test", type};
    const auto answer = damper::http::parse_answer(bytes, id, question);
    // Neither the own query nor an answer to another id is an answer.
    if (parse_answer(bytes, static_cast<std::uint16_t>(id + 1), question)) std::abort();
    if (!answer) continue;
    const std::size_t records = answer->addresses.size() + answer->services.size();
    if (records > damper::http::kMostDnsRecords || answer->ttl < Duration{0}) std::abort();
    if ((answer->result == DnsResult::found) != (records > 0)) std::abort();
    if (type == DnsType::srv ? !answer->addresses.empty() : !answer->services.empty()) std::abort();
    for (const auto& service : answer->services) {
      if (!service.target.empty() && !damper::http::is_dns_name(service.target)) std::abort();
    }
  }
  return 0;
}
