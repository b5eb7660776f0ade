#include "damper/proxy/log/access_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace damper::proxy {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

bool is_plain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

// The most bytes that a field's value has in a line, escapes included, without quotes.
constexpr std::size_t most_bytes(AccessField field) {
  using F = AccessField;
  switch (field) {
    case F::path: return kLongestPath;
    case F::authority:
    case F::route:
    case F::cluster:
    case F::replica:
    case F::user_agent:
    case F::request_id:
    case F::referer: return kLongestName;
    case F::method:
    case F::traceparent:
    case F::client: return 64;
    default: return 32;  // A time, a number, or a name of ours.
  }
}

constexpr std::size_t longest_json() {
  std::size_t size = std::string_view("}\n").size();
  for (std::size_t i = 0; i < kAccessFieldNames.size(); ++i) {
    const auto field = static_cast<AccessField>(i);
    size += std::string_view(",\"\":\"\"").size() + kAccessFieldNames[field].size();
    size += most_bytes(field);
  }
  return size;
}
static_assert(longest_json() <= kLongestLine);

// Cut before the first byte whose escape has no room in `most` bytes.
void append_json_text(std::string& out, std::string_view text, std::size_t most) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool quoted = c == '"' || c == '\\';
    const std::size_t size = is_plain(c) ? 1 : quoted ? 2 : 6;
    if (size > most) return;
    most -= size;
    if (size == 1) {
      out += c;
    } else if (quoted) {
      out += '\\';
      out += c;
    } else {  // Bytes over 0x7f too: they need not be UTF-8.
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
}

void append_number(std::string& out, std::uint64_t number, std::size_t width = 1) {
  std::array<char, 20> digits{};
  char* const end = std::to_chars(digits.data(), digits.data() + 20, number).ptr;
  const auto size = static_cast<std::size_t>(end - digits.data());
  if (size < width) out.append(width - size, '0');
  out.append(digits.data(), end);
}

// The parts of a date, in UTC.
struct Moment {
  explicit Moment(UnixTime at)
      : date(std::chrono::floor<std::chrono::days>(at)),
        time(std::chrono::floor<std::chrono::milliseconds>(
            at - std::chrono::floor<std::chrono::days>(at))) {}
  std::chrono::year_month_day date;
  std::chrono::hh_mm_ss<std::chrono::milliseconds> time;
};

template <class Number>
void append_padded(std::string& out, Number number, std::size_t width, char after) {
  append_number(out, static_cast<std::uint64_t>(number), width);
  out += after;
}

void append_clock(std::string& out, const Moment& moment, char after) {
  append_padded(out, moment.time.hours().count(), 2, ':');
  append_padded(out, moment.time.minutes().count(), 2, ':');
  append_padded(out, moment.time.seconds().count(), 2, after);
}

// Writes the fields of the layout as members of an object.
class JsonLine {
 public:
  JsonLine(std::string& out, const AccessLayout& layout)
      : out_(out), layout_(layout), begin_(out.size()) {}

  void time(UnixTime now) {
    if (!open(AccessField::time)) return;
    const Moment moment(now);
    out_ += '"';
    append_padded(out_, static_cast<int>(moment.date.year()), 4, '-');
    append_padded(out_, static_cast<unsigned>(moment.date.month()), 2, '-');
    append_padded(out_, static_cast<unsigned>(moment.date.day()), 2, 'T');
    append_clock(out_, moment, '.');
    append_padded(out_, moment.time.subseconds().count(), 3, 'Z');
    out_ += '"';
  }
  void text(AccessField field, std::string_view text) {
    if (text.empty() || !open(field)) return;
    out_ += '"';
    append_json_text(out_, text, most_bytes(field));
    out_ += '"';
  }
  void number(AccessField field, std::uint64_t number) {
    if (open(field)) append_number(out_, number);
  }
  void milliseconds(AccessField field, Duration length) {
    if (!open(field)) return;
    const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(0, length.count() / 1000));
    append_number(out_, us / 1000);
    out_ += '.';
    append_number(out_, us % 1000, 3);
  }
  void end() {
    if (out_.size() == begin_) out_ += '{';
    out_[begin_] = '{';  // In the place of the first comma.
    out_ += "}\n";
  }
  [[nodiscard]] bool has(AccessField field) const noexcept { return layout_.has(field); }

 private:
  [[nodiscard]] bool open(AccessField field) {
    if (!has(field)) return false;
    out_.append(",\"").append(kAccessFieldNames[field]).append("\":");
    return true;
  }

  std::string& out_;
  const AccessLayout& layout_;
  const std::size_t begin_;
};

std::string_view referer_of(const AccessRecord& record) {
  return http::find(record.fields, "referer").value_or("");
}

// A stranger may send anything under this name.
std::string_view traceparent_of(const AccessRecord& record) {
  return observe::parse_traceparent(record.traceparent) ? record.traceparent : std::string_view();
}

void append_json(std::string& out, const AccessRecord& record, const AccessLayout& layout,
                 UnixTime now) {
  using F = AccessField;
  JsonLine line(out, layout);
  line.time(now);
  line.text(F::method, record.method);
  line.text(F::path, record.target);
  line.text(F::authority, record.authority);
  line.text(F::route, record.route);
  line.text(F::cluster, record.cluster);
  line.text(F::replica, record.replica);
  if (record.status != 0) line.number(F::status, static_cast<std::uint64_t>(record.status));
  if (record.grpc_status) {
    line.number(F::grpc_status, static_cast<std::uint64_t>(*record.grpc_status));
  }
  if (record.verdict != Verdict::none) line.text(F::verdict, name(record.verdict));
  line.number(F::attempts, record.attempts);
  line.milliseconds(F::duration_ms, record.took);
  if (record.upstream_head > Duration{0}) line.milliseconds(F::upstream_ms, record.upstream_head);
  line.number(F::bytes_in, record.bytes_in);
  line.number(F::bytes_out, record.bytes_out);
  if (line.has(F::traceparent)) line.text(F::traceparent, traceparent_of(record));
  line.text(F::closed, http::name(record.ended));
  line.text(F::client, record.client);
  line.text(F::protocol, record.protocol);
  line.text(F::user_agent, record.user_agent);
  line.text(F::request_id, record.request_id);
  if (record.trace) {
    observe::TraceIdText id{};
    observe::write_trace_id(record.trace, id);
    line.text(F::trace_id, {id.data(), id.size()});
  }
  if (line.has(F::referer)) line.text(F::referer, referer_of(record));
  line.end();
}

// A text of the combined format, cut as in JSON; "-" if it is empty.
void append_word(std::string& out, AccessField field, std::string_view text) {
  if (text.empty()) out += '-';
  std::size_t most = most_bytes(field);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const std::size_t size = is_plain(c) ? 1 : 4;
    if (size > most) return;
    most -= size;
    if (size == 1) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
}

void append_combined(std::string& out, const AccessRecord& record, UnixTime now) {
  using F = AccessField;
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const Moment moment(now);
  append_word(out, F::client, record.client);
  out += " - - [";
  append_padded(out, static_cast<unsigned>(moment.date.day()), 2, '/');
  out += kMonths[static_cast<unsigned>(moment.date.month()) - 1];
  out += '/';
  append_padded(out, static_cast<int>(moment.date.year()), 4, ':');
  append_clock(out, moment, ' ');
  out += "+0000] \"";
  if (record.method.empty()) {
    out += '-';  // The codec refused the request.
  } else {
    append_word(out, F::method, record.method);
    out += ' ';
    append_word(out, F::path, record.target);
    out += ' ';
    append_word(out, F::protocol, record.protocol);
  }
  out += "\" ";
  append_number(out, static_cast<std::uint64_t>(std::max(record.status, 0)), 3);
  out += ' ';
  append_number(out, record.bytes_out);
  out += " \"";
  append_word(out, F::referer, referer_of(record));
  out += "\" \"";
  append_word(out, F::user_agent, record.user_agent);
  out += "\"\n";
}

}  // namespace

void append_access_line(std::string& out, const AccessRecord& record, const AccessLayout& layout,
                        UnixTime now) {
  switch (layout.format) {
    case AccessFormat::json: return append_json(out, record, layout, now);
    case AccessFormat::combined: return append_combined(out, record, now);
  }
}

}  // namespace damper::proxy
