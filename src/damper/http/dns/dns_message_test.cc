#include "damper/http/dns/dns_message.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/http/dns/dns_testing.h"

namespace damper::http {
namespace {

using std::chrono::seconds;

constexpr unsigned kId = 0x1234;
const DnsQuestion kA{"api.test", DnsType::a};
const DnsQuestion kSrv{"_http._tcp.test", DnsType::srv};

std::string message(const std::vector<std::string>& records, unsigned flags = kTestFlags) {
  return wire_message(kId, flags, kA, records);
}
DnsAnswer parse(const std::string& bytes, const DnsQuestion& question = kA) {
  const auto answer = parse_answer(bytes, kId, question);
  EXPECT_TRUE(answer.has_value());
  return answer.value_or(DnsAnswer{.result = DnsResult::unreachable});
}
DnsResult result_of(const std::vector<std::string>& records) {
  return parse(message(records)).result;
}
std::vector<std::string> addresses(const DnsAnswer& answer) {
  std::vector<std::string> all;
  for (const IpAddress& one : answer.addresses) all.push_back(one.text());
  return all;
}
using Texts = std::vector<std::string>;

// The question begins at 12, its name's last label at 16, and the answers after its type and class.
constexpr unsigned kQuestionAt = 12;
constexpr unsigned kRecordsAt = 12 + 10 + 4;

TEST(DnsMessage, AQueryHasItsBytes) {
  EXPECT_EQ(write_query(kA, kId), std::string("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
                                              "\x03"
                                              "api"
                                              "\x04"
                                              "test\x00\x00\x01\x00\x01",
                                              26));
}

TEST(DnsMessage, ANameHasLabelsOf63BytesAnd253InAll) {
  const std::string longest = std::string(63, 'a') + '.' + std::string(63, 'b') + '.' +
                              std::string(63, 'c') + '.' + std::string(61, 'd');
  EXPECT_TRUE(is_dns_name(longest));  // 253
  EXPECT_FALSE(is_dns_name(longest + 'd'));
  EXPECT_LE(write_query({longest, DnsType::a}, 1).size(), kMostDnsQueryBytes);
  EXPECT_TRUE(is_dns_name("_http._tcp.a-b.test"));
  EXPECT_FALSE(is_dns_name(std::string(64, 'a')));
  for (const char* name : {"", ".", "a.", ".a", "a..b", "a b", "a\\b", "a\n", "\xc3\xa4"}) {
    EXPECT_FALSE(is_dns_name(name)) << name;
  }
}

TEST(DnsMessage, AddressesAreReadWithTheLeastTtl) {
  const DnsAnswer v4 = parse(message({address_record("api.test", 300, "10.0.0.1"),
                                      address_record("API.Test", 60, "10.0.0.2"),
                                      address_record("other.test", 1, "10.0.0.3")}));
  EXPECT_EQ(v4.result, DnsResult::found);
  EXPECT_EQ(addresses(v4), (Texts{"10.0.0.1", "10.0.0.2"}));
  EXPECT_EQ(v4.ttl, seconds(60));
  const DnsQuestion aaaa{"api.test", DnsType::aaaa};
  const DnsAnswer v6 =
      parse(wire_message(kId, kTestFlags, aaaa,
                         {address_record("api.test", 5, "fd00::7"),
                          address_record("api.test", 1, "10.0.0.1")}),  // Not asked for.
            aaaa);
  EXPECT_EQ(addresses(v6), Texts{"fd00::7"});
  EXPECT_EQ(v6.ttl, seconds(5));
}

TEST(DnsMessage, ServicesAreRead) {
  const SrvRecord one{.priority = 1, .weight = 2, .port = 8080, .target = "a.test"};
  const SrvRecord none{.priority = 0, .weight = 0, .port = 0, .target = ""};
  const DnsAnswer answer =
      parse(wire_message(kId, kTestFlags, kSrv,
                         {srv_record(kSrv.name, 7, one), srv_record(kSrv.name, 7, none)}),
            kSrv);
  EXPECT_EQ(answer.services, (std::vector<SrvRecord>{one, none}));
  EXPECT_EQ(answer.ttl, seconds(7));
}

TEST(DnsMessage, PointersLeadBack) {
  EXPECT_EQ(result_of({wire_record(wire_pointer(kQuestionAt), 1, 1, "\1\1\1\1")}),
            DnsResult::found);
  // "api" and then a pointer to the "test" of the question.
  EXPECT_EQ(result_of({wire_record("\3api" + wire_pointer(kQuestionAt + 4), 1, 1, "\1\1\1\1")}),
            DnsResult::found);
  // To itself, forward, beyond the end, and to where its own name begins.
  for (const std::string& owner :
       {wire_pointer(kRecordsAt), wire_pointer(kRecordsAt + 2), wire_pointer(0x3fff),
        "\3api" + wire_pointer(kRecordsAt), "\3api" + wire_pointer(kRecordsAt + 4)}) {
    EXPECT_EQ(result_of({wire_record(owner, 1, 1, "\1\1\1\1")}), DnsResult::malformed);
  }
  // Two that lead to each other: the first of them leads forward.
  const std::string mutual = wire_pointer(kRecordsAt + 2) + wire_pointer(kRecordsAt);
  EXPECT_EQ(result_of({mutual}), DnsResult::malformed);
  EXPECT_EQ(result_of({wire_record("\x40" + std::string(64, 'a') + '\0', 1, 1, "\1\1\1\1")}),
            DnsResult::malformed);  // Neither a label nor a pointer.
}

TEST(DnsMessage, APointerToPointersIsBounded) {
  // In the data of a record that is not used: pointers, each to the one before it.
  const auto chain = [](unsigned count) {
    const unsigned data_at = kRecordsAt + 1 + 10;
    std::string data = wire_pointer(kQuestionAt);
    for (unsigned i = 1; i < count; ++i) data += wire_pointer(data_at + 2 * (i - 1));
    return Texts{wire_record(std::string(1, '\0'), 16, 1, data),
                 wire_record(wire_pointer(data_at + 2 * (count - 1)), 1, 1, "\1\1\1\1")};
  };
  EXPECT_EQ(result_of(chain(127)), DnsResult::found);
  EXPECT_EQ(result_of(chain(128)), DnsResult::malformed);
  EXPECT_EQ(result_of(chain(5000)), DnsResult::malformed);
}

TEST(DnsMessage, LongNamesAreRefused) {
  const std::string label = '\x3f' + std::string(63, 'a');
  const std::string rest = '\x3d' + std::string(61, 'a') + '\0';
  EXPECT_EQ(result_of({wire_record(label + label + label + rest, 1, 1, "\1\1\1\1")}),
            DnsResult::no_data);  // 255 bytes: it is read, and another name.
  EXPECT_EQ(result_of({wire_record(label + label + label + '\x3e' + 'b' + rest.substr(1), 1, 1,
                                   "\1\1\1\1")}),
            DnsResult::malformed);
  // A pointer that makes it too long.
  EXPECT_EQ(result_of({wire_record(label + label + label + rest, 16, 1, ""),
                       wire_record("\1x" + wire_pointer(kRecordsAt), 1, 1, "\1\1\1\1")}),
            DnsResult::malformed);
  for (const char bad : {'.', '\\', ' ', '\n', '\0', '\x7f', '\xff'}) {
    EXPECT_EQ(result_of({wire_record(std::string("\3a") + bad + "b" + '\0', 1, 1, "\1\1\1\1")}),
              DnsResult::malformed);
  }
}

TEST(DnsMessage, EveryPrefixIsRefused) {
  const std::string whole =
      message({alias_record("api.test", 1, "b.test"), address_record("b.test", 1, "10.0.0.1")});
  EXPECT_EQ(parse(whole).result, DnsResult::found);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto answer = parse_answer(std::string_view(whole).substr(0, size), kId, kA);
    // Without its question it is no answer to it.
    EXPECT_EQ(answer.has_value(), size >= kRecordsAt) << size;
    if (!answer) continue;
    EXPECT_EQ(answer->result, DnsResult::malformed) << size;
  }
}

TEST(DnsMessage, CountsThatLieAreRefused) {
  std::string bytes = message({address_record("api.test", 1, "10.0.0.1")});
  bytes[7] = 2;  // answers
  EXPECT_EQ(parse(bytes).result, DnsResult::malformed);
  bytes[6] = bytes[7] = '\xff';
  EXPECT_EQ(parse(bytes).result, DnsResult::malformed);
  bytes[6] = bytes[7] = 0;
  EXPECT_EQ(parse(bytes).result, DnsResult::no_data);  // What follows is not read.
  // The data's length, too.
  EXPECT_EQ(result_of({wire_record(wire_name("api.test"), 1, 1, "\1\1\1")}), DnsResult::malformed);
  EXPECT_EQ(result_of({wire_record(wire_name("api.test"), 1, 1, "\1\1\1\1\1")}),
            DnsResult::malformed);
  std::string alias = alias_record("api.test", 1, "b.test");
  EXPECT_EQ(result_of({alias + 'x'}), DnsResult::no_data);
  ++alias[alias.size() - wire_name("b.test").size() - 1];
  EXPECT_EQ(result_of({alias + 'x'}), DnsResult::malformed);
}

TEST(DnsMessage, AnotherMessageIsNoAnswer) {
  const Texts records = {address_record("api.test", 1, "10.0.0.1")};
  const auto is_answer = [](const std::string& bytes) {
    return parse_answer(bytes, kId, kA).has_value();
  };
  EXPECT_TRUE(is_answer(message(records)));
  EXPECT_FALSE(is_answer(wire_message(kId + 1, kTestFlags, kA, records)));
  EXPECT_FALSE(is_answer(wire_message(kId, kTestFlags, {"api.test", DnsType::aaaa}, records)));
  EXPECT_FALSE(is_answer(wire_message(kId, kTestFlags, {"apj.test", DnsType::a}, records)));
  EXPECT_FALSE(is_answer(message(records, 0x0180)));               // a query
  EXPECT_FALSE(is_answer(message(records, kTestFlags | 0x2000)));  // another operation
  std::string bytes = message(records);
  bytes[5] = 2;  // questions
  EXPECT_FALSE(is_answer(bytes));
  bytes[5] = 0;
  EXPECT_FALSE(is_answer(bytes));
  bytes = message(records);
  bytes[kRecordsAt - 1] = 3;  // the question's class
  EXPECT_FALSE(is_answer(bytes));
  EXPECT_FALSE(is_answer(""));
  EXPECT_TRUE(is_answer(wire_message(kId, kTestFlags, {"API.tEst", DnsType::a}, records)));
}

TEST(DnsMessage, ATruncatedAnswerIsNotRead) {
  const DnsAnswer answer =
      parse(message({address_record("api.test", 1, "10.0.0.1")}, kTestFlags | 0x0200));
  EXPECT_EQ(answer.result, DnsResult::truncated);
  EXPECT_TRUE(answer.addresses.empty());
}

TEST(DnsMessage, CodesOfServersAreFailuresButForOne) {
  const Texts records = {address_record("api.test", 1, "10.0.0.1")};
  for (unsigned code = 1; code < 16; ++code) {
    const DnsAnswer answer = parse(message(records, kTestFlags | code));
    EXPECT_EQ(answer.result, code == 3 ? DnsResult::no_name : DnsResult::server_failed) << code;
    EXPECT_TRUE(answer.addresses.empty());
  }
  std::string bytes = message({}, kTestFlags | 1).substr(0, 12);  // It could not read the query.
  bytes[5] = 0;
  EXPECT_EQ(parse(bytes).result, DnsResult::server_failed);
  bytes[3] = static_cast<char>(0x83);  // No such name: which one?
  EXPECT_FALSE(parse_answer(bytes, kId, kA));
}

TEST(DnsMessage, AliasesAreFollowedInAnyOrder) {
  const DnsAnswer answer = parse(
      message({address_record("c.test", 300, "10.0.0.1"), alias_record("b.test", 20, "c.test"),
               alias_record("api.test", 100, "b.test")}));
  EXPECT_EQ(addresses(answer), Texts{"10.0.0.1"});
  EXPECT_EQ(answer.ttl, seconds(20));
  // To nothing: the server has no addresses.
  EXPECT_EQ(result_of({alias_record("api.test", 100, "b.test")}), DnsResult::no_data);
}

TEST(DnsMessage, AliasesAreBoundedAndTheirLoopsEnd) {
  const auto chain = [](std::size_t aliases) {
    Texts records = {alias_record("api.test", 1, "n1.test")};
    for (std::size_t i = 1; i < aliases; ++i) {
      records.push_back(alias_record("n" + std::to_string(i) + ".test", 1,
                                     "n" + std::to_string(i + 1) + ".test"));
    }
    records.push_back(address_record("n" + std::to_string(aliases) + ".test", 1, "10.0.0.1"));
    return records;
  };
  EXPECT_EQ(result_of(chain(kMostDnsAliases)), DnsResult::found);
  EXPECT_EQ(result_of(chain(kMostDnsAliases + 1)), DnsResult::malformed);
  EXPECT_EQ(result_of({alias_record("api.test", 1, "api.test")}), DnsResult::malformed);
  EXPECT_EQ(
      result_of({alias_record("api.test", 1, "b.test"), alias_record("b.test", 1, "api.test")}),
      DnsResult::malformed);
}

TEST(DnsMessage, ATtlWithTheHighestBitIsZero) {
  const auto ttl = [](std::uint32_t value) {
    return parse(message({address_record("api.test", value, "10.0.0.1")})).ttl;
  };
  EXPECT_EQ(ttl(0x7fffffffU), seconds(0x7fffffff));
  EXPECT_EQ(ttl(0x80000000U), seconds(0));
  EXPECT_EQ(ttl(0xffffffffU), seconds(0));
}

TEST(DnsMessage, AnAbsenceIsKeptByItsAuthority) {
  const auto ttl = [](std::uint32_t of_record, std::uint32_t minimum, unsigned code) {
    const DnsAnswer answer =
        parse(wire_message(kId, kTestFlags | code, kA, {},
                           {wire_record(wire_name("test"), 2, 9, wire_name("ns.test")),
                            authority_record("test", of_record, minimum)}));
    EXPECT_EQ(answer.result, code == 3 ? DnsResult::no_name : DnsResult::no_data);
    return answer.ttl;
  };
  EXPECT_EQ(ttl(300, 60, 3), seconds(60));
  EXPECT_EQ(ttl(30, 60, 0), seconds(30));
  EXPECT_EQ(ttl(300, 0x80000000U, 3), seconds(0));
  EXPECT_EQ(parse(message({}, kTestFlags | 3)).ttl, seconds(0));  // Without one.
  // Of one that is cut short, too.
  std::string bytes = wire_message(kId, kTestFlags, kA, {}, {authority_record("test", 300, 60)});
  bytes.pop_back();
  EXPECT_EQ(parse(bytes).ttl, seconds(0));
}

TEST(DnsMessage, AnAnswerHasABoundedNumberOfRecords) {
  Texts records(kMostDnsRecords + 5, wire_record(wire_pointer(kQuestionAt), 1, 1, "\1\1\1\1"));
  EXPECT_EQ(parse(message(records)).addresses.size(), kMostDnsRecords);
}

TEST(DnsMessage, RecordsOfOtherClassesAreIgnored) {
  std::string record = address_record("api.test", 1, "10.0.0.1");
  record[wire_name("api.test").size() + 3] = 3;  // CHAOS
  EXPECT_EQ(result_of({record}), DnsResult::no_data);
}

}  // namespace
}  // namespace damper::http
