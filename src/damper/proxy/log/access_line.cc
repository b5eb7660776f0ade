#include "damper/proxy/log/access_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace damper::proxy {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

bool is_plain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

void append_json_text(std::string& out, std::string_view text) {
  for (const char c : text.substr(0, kLongestText)) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(c)) {
      out += c;
    } else if (c == '"' || c == '\\') {
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
    append_json_text(out_, text);
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
  return http::find(record.fields, "referer").value_or("").substr(0, kLongestName);
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
  if (record.verdict != Verdict::none) line.text(F::verdict, name(record.verdict));
  line.number(F::attempts, record.attempts);
  line.milliseconds(F::duration_ms, record.took);
  if (record.upstream_head > Duration{0}) line.milliseconds(F::upstream_ms, record.upstream_head);
  line.number(F::bytes_in, record.bytes_in);
  line.number(F::bytes_out, record.bytes_out);
  line.text(F::traceparent, record.traceparent);
  line.text(F::closed, http::name(record.ended));
  line.text(F::client, record.client);
  line.text(F::protocol, record.protocol);
  line.text(F::user_agent, record.user_agent.substr(0, kLongestName));
  line.text(F::request_id, record.request_id.substr(0, kLongestName));
  if (record.trace) {
    observe::TraceIdText id{};
    observe::write_trace_id(record.trace, id);
    line.text(F::trace_id, {id.data(), id.size()});
  }
  if (line.has(F::referer)) line.text(F::referer, referer_of(record));
  line.end();
}

// A text of the combined format; "-" if it is empty.
void append_word(std::string& out, std::string_view text) {
  if (text.empty()) out += '-';
  for (const char c : text.substr(0, kLongestText)) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(c)) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
}

void append_combined(std::string& out, const AccessRecord& record, UnixTime now) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const Moment moment(now);
  append_word(out, record.client);
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
    append_word(out, record.method);
    out += ' ';
    append_word(out, record.target);
    out += ' ';
    append_word(out, record.protocol);
  }
  out += "\" ";
  append_number(out, static_cast<std::uint64_t>(std::max(record.status, 0)), 3);
  out += ' ';
  append_number(out, record.bytes_out);
  out += " \"";
  append_word(out, referer_of(record));
  out += "\" \"";
  append_word(out, record.user_agent.substr(0, kLongestName));
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
