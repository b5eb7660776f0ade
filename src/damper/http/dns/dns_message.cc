#include "damper/http/dns/dns_message.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "damper/base/check.h"

namespace damper::http {
namespace {

constexpr std::size_t kMostName = 253;
constexpr std::size_t kMostLabel = 63;
constexpr std::size_t kMostPointers = 128;  // of a name: no name has more labels
constexpr std::uint16_t kInternet = 1;      // class IN
constexpr std::uint16_t kAlias = 5;         // type CNAME
constexpr std::uint16_t kAuthority = 6;     // type SOA
// Of the flags.
constexpr unsigned kIsAnswer = 0x8000;
constexpr unsigned kOperation = 0x7800;
constexpr unsigned kIsTruncated = 0x0200;
constexpr unsigned kRecursionDesired = 0x0100;
constexpr unsigned kCode = 0x000f;
constexpr unsigned kNoSuchName = 3;

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
// A character of a label that a text of the name can have without escapes.
constexpr bool is_plain(char c) noexcept { return c > ' ' && c <= '~' && c != '.' && c != '\\'; }

void put16(std::string& out, unsigned value) {
  out += static_cast<char>(value >> 8 & 0xff);
  out += static_cast<char>(value & 0xff);
}

// Reads a message from its first byte on. A read that fails, and all after it, return 0 or nothing.
class Reader {
 public:
  explicit Reader(std::string_view message) : message_(message) {}

  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  [[nodiscard]] std::string_view bytes(std::size_t count) {
    if (failed_ || message_.size() - at_ < count) {
      failed_ = true;
      return {};
    }
    at_ += count;
    return message_.substr(at_ - count, count);
  }
  [[nodiscard]] unsigned number8() {
    const std::string_view got = bytes(1);
    return got.empty() ? 0 : static_cast<unsigned char>(got[0]);
  }
  [[nodiscard]] unsigned number16() {
    const unsigned high = number8();
    return high << 8 | number8();
  }
  [[nodiscard]] std::uint32_t number32() {
    const std::uint32_t high = number16();
    return high << 16 | number16();
  }
  // A name, which a pointer may continue. Each pointer leads to before the part that it ends, so
  // that there is no loop; their number is bounded, so that no name costs more than its length.
  [[nodiscard]] std::string name() {
    std::string text;
    std::size_t pointers = 0;
    std::size_t part = at_;  // where the part that is read begins
    std::size_t after = 0;   // the name, in the message; 0: no pointer so far
    for (;;) {
      const unsigned length = number8();
      if (failed_) return {};
      if (length == 0) break;
      if (length >= 0xc0) {
        const std::size_t to = (length & 0x3fU) << 8 | number8();
        if (failed_ || to >= part || ++pointers > kMostPointers) return fail();
        if (after == 0) after = at_;
        part = at_ = to;
        continue;
      }
      const std::string_view label = bytes(length);
      if (length > kMostLabel || text.size() + label.size() + 1 > kMostName ||
          !std::all_of(label.begin(), label.end(), is_plain)) {
        return fail();
      }
      if (!text.empty()) text += '.';
      std::transform(label.begin(), label.end(), std::back_inserter(text), lower);
    }
    if (after != 0) at_ = after;
    return failed_ ? std::string() : text;
  }
  void skip_to(std::size_t at) {
    if (at < at_ || at > message_.size()) failed_ = true;
    if (!failed_) at_ = at;
  }

 private:
  [[nodiscard]] std::string fail() {
    failed_ = true;
    return {};
  }

  std::string_view message_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

struct Head {
  unsigned id, flags, questions, answers, authorities;
};

Head read_head(Reader& reader) {
  Head head{};
  head.id = reader.number16();
  head.flags = reader.number16();
  head.questions = reader.number16();
  head.answers = reader.number16();
  head.authorities = reader.number16();
  (void)reader.number16();  // additional records
  return head;
}

struct Record {
  std::string owner;
  unsigned type = 0, of_class = 0;
  Duration ttl{0};
  std::size_t end = 0;  // of its data, which the reader is at
};

Record read_record(Reader& reader) {
  Record record;
  record.owner = reader.name();
  record.type = reader.number16();
  record.of_class = reader.number16();
  const std::uint32_t ttl = reader.number32();
  // With the highest bit it is 0 (RFC 2181, section 8).
  record.ttl = std::chrono::seconds(ttl > 0x7fffffffU ? 0 : ttl);
  const unsigned length = reader.number16();
  record.end = reader.at() + length;
  return record;
}

// The records of an answer section that may be used.
class Section {
 public:
  explicit Section(DnsType type) : type_(type) {}

  // Whether the record could be read.
  [[nodiscard]] bool add(Reader& reader) {
    Record record = read_record(reader);
    if (reader.failed()) return false;
    if (record.of_class == kInternet && record.type == kAlias) {
      aliases_.push_back({std::move(record.owner), reader.name(), record.ttl});
    } else if (record.of_class == kInternet && record.type == static_cast<unsigned>(type_) &&
               found_.size() < kMostDnsRecords) {
      if (!add_data(reader, record)) return false;
    } else {
      reader.skip_to(record.end);
    }
    return !reader.failed() && reader.at() == record.end;
  }

  // The records of the name, or of what it is an alias for; false: too many aliases.
  [[nodiscard]] bool take(std::string name, DnsAnswer& answer) {
    Duration ttl = kForever;
    for (std::size_t hops = 0;; ++hops) {
      const auto alias = std::find_if(aliases_.begin(), aliases_.end(),
                                      [&](const Alias& one) { return one.owner == name; });
      if (alias == aliases_.end()) break;
      if (hops == kMostDnsAliases) return false;
      ttl = std::min(ttl, alias->ttl);
      name = alias->target;
    }
    for (Data& one : found_) {
      if (one.owner != name) continue;
      answer.result = DnsResult::found;
      answer.ttl = ttl = std::min(ttl, one.ttl);
      if (one.address) answer.addresses.push_back(*one.address);
      if (one.service) answer.services.push_back(*std::move(one.service));
    }
    return true;
  }

 private:
  struct Alias {
    std::string owner, target;
    Duration ttl;
  };
  struct Data {
    std::string owner;
    Duration ttl;
    std::optional<IpAddress> address;
    std::optional<SrvRecord> service;
  };

  [[nodiscard]] bool add_data(Reader& reader, Record& record) {
    Data data{.owner = std::move(record.owner), .ttl = record.ttl, .address = {}, .service = {}};
    switch (type_) {
      case DnsType::a: data.address = read_address<IpAddress::V4>(reader); break;
      case DnsType::aaaa: data.address = read_address<IpAddress::V6>(reader); break;
      case DnsType::srv: {
        SrvRecord service;
        service.priority = static_cast<std::uint16_t>(reader.number16());
        service.weight = static_cast<std::uint16_t>(reader.number16());
        service.port = static_cast<std::uint16_t>(reader.number16());
        service.target = reader.name();
        data.service = std::move(service);
        break;
      }
    }
    if (reader.failed()) return false;
    found_.push_back(std::move(data));
    return true;
  }
  template <class Bytes>
  static std::optional<IpAddress> read_address(Reader& reader) {
    Bytes bytes{};
    const std::string_view data = reader.bytes(bytes.size());
    if (data.size() != bytes.size()) return std::nullopt;
    std::transform(data.begin(), data.end(), bytes.begin(),
                   [](char c) { return static_cast<std::uint8_t>(c); });
    return IpAddress(bytes);
  }

  DnsType type_;
  std::vector<Alias> aliases_;
  std::vector<Data> found_;
};

// How long the absence of records may be kept: RFC 2308, section 5.
Duration read_negative_ttl(Reader& reader, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    const Record record = read_record(reader);
    if (reader.failed()) break;
    if (record.type != kAuthority || record.of_class != kInternet) {
      reader.skip_to(record.end);
      continue;
    }
    (void)reader.name();     // the server
    (void)reader.name();     // the person
    (void)reader.bytes(16);  // serial, refresh, retry, expire
    const std::uint32_t minimum = reader.number32();
    if (reader.failed() || minimum > 0x7fffffffU) break;
    return std::min<Duration>(record.ttl, std::chrono::seconds(minimum));
  }
  return Duration{0};
}

}  // namespace

bool is_dns_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > kMostName) return false;
  std::size_t label = 0;
  for (const char c : name) {
    if (c == '.') {
      if (label == 0) return false;
      label = 0;
    } else if (!is_plain(c) || ++label > kMostLabel) {
      return false;
    }
  }
  return label > 0;
}

std::string write_query(const DnsQuestion& question, std::uint16_t id) {
  DAMPER_CHECK(is_dns_name(question.name));
  std::string out;
  out.reserve(kMostDnsQueryBytes);
  put16(out, id);
  put16(out, kRecursionDesired);
  put16(out, 1);  // question
  for (int i = 0; i < 3; ++i) put16(out, 0);
  std::string_view rest = question.name;
  while (!rest.empty()) {
    const std::string_view label = rest.substr(0, rest.find('.'));
    out += static_cast<char>(label.size());
    out += label;
    rest.remove_prefix(std::min(rest.size(), label.size() + 1));
  }
  out += '\0';
  put16(out, static_cast<unsigned>(question.type));
  put16(out, kInternet);
  return out;
}

std::optional<DnsAnswer> parse_answer(std::string_view message, std::uint16_t id,
                                      const DnsQuestion& question) {
  Reader reader(message);
  const Head head = read_head(reader);
  if (reader.failed() || head.id != id || (head.flags & kIsAnswer) == 0 ||
      (head.flags & kOperation) != 0) {
    return std::nullopt;
  }
  const unsigned code = head.flags & kCode;
  DnsAnswer answer;
  // A server that cannot read a query may leave its question out.
  const bool has_question = head.questions != 0 || code == 0 || code == kNoSuchName;
  if (has_question) {
    const std::string name = reader.name();
    const unsigned type = reader.number16();
    const unsigned of_class = reader.number16();
    if (reader.failed() || head.questions != 1 || name != question.name ||
        type != static_cast<unsigned>(question.type) || of_class != kInternet) {
      return std::nullopt;
    }
  }
  if (code != 0 && code != kNoSuchName) {
    answer.result = DnsResult::server_failed;
    return answer;
  }
  if ((head.flags & kIsTruncated) != 0) {
    answer.result = DnsResult::truncated;
    return answer;
  }
  Section section(question.type);
  for (unsigned i = 0; i < head.answers; ++i) {
    if (!section.add(reader)) return answer;
  }
  if (code == 0 && !section.take(question.name, answer)) return answer;
  if (answer.result == DnsResult::found) return answer;
  answer.result = code == 0 ? DnsResult::no_data : DnsResult::no_name;
  answer.ttl = read_negative_ttl(reader, head.authorities);
  return answer;
}

}  // namespace damper::http
