#include "damper/cli/ctl/ctl_events.h"

#include <algorithm>
#include <ostream>
#include <thread>

#include "damper/base/text/json_reader.h"
#include "damper/base/text/plain_text.h"
#include "damper/cli/terminal.h"
#include "damper/run/interrupt.h"

namespace damper::cli {
namespace {

using text::Ink;
using text::JsonValue;

constexpr std::size_t kNameWidth = 17;  // of the longest event but a few

// What one event says of itself.
struct Block {
  std::string_view id, event, data;
};

std::string_view take_until(std::string_view& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + mark.size());
  return head;
}

Block read_block(std::string_view lines) {
  Block block;
  while (!lines.empty()) {
    const std::string_view line = take_until(lines, "\n");
    if (line.starts_with("id: ")) block.id = line.substr(4);
    if (line.starts_with("event: ")) block.event = line.substr(7);
    if (line.starts_with("data: ")) block.data = line.substr(6);
  }
  return block;
}

Ink ink_of(std::string_view event) {
  constexpr std::string_view kGood[] = {"recovered", "budget_refilled", "breaker_closed",
                                        "control_restored", "upgraded"};
  constexpr std::string_view kQuiet[] = {"policy_reloaded", "breaker_half_open"};
  if (std::find(std::begin(kGood), std::end(kGood), event) != std::end(kGood)) return Ink::good;
  if (std::find(std::begin(kQuiet), std::end(kQuiet), event) != std::end(kQuiet)) return Ink::calm;
  return Ink::alarm;
}

// "2026-11-15T02:13:07.123Z  breaker_opened     checkout  1.5s"
void print_line(std::ostream& out, const JsonValue& event, const text::Painter& paint) {
  const auto word = [&event](std::string_view name) {
    const JsonValue* const value = event.find(name);
    return value == nullptr ? std::string() : text::printable(value->text, 600);
  };
  const std::string kind = word("event");
  const Ink ink = ink_of(kind);
  const std::string padded = text::padded_right(kind, kNameWidth);
  out << word("time") << "  " << (ink == Ink::calm ? padded : paint(ink, padded)) << "  "
      << word("key");
  if (const std::string count = word("count"); !count.empty()) out << "  count " << count;
  if (const std::string length = word("length"); !length.empty()) out << "  for " << length;
  if (const std::string detail = word("detail"); !detail.empty()) out << "  " << detail;
  out << '\n';
}

}  // namespace

std::string print_events(std::ostream& out, std::string_view text, bool json,
                         text::ReportStyle style) {
  const text::Painter paint(style);
  std::string last;
  while (!text.empty()) {
    const Block block = read_block(take_until(text, "\n\n"));
    if (block.event == "missed" && !json) out << "... some are no longer kept ...\n";
    if (block.id.empty() || block.data.empty()) continue;
    last = block.id;
    const auto event = text::read_json(block.data);
    if (!event) continue;
    if (json) {
      out << text::printable(block.data, 4000) << '\n';
    } else {
      print_line(out, *event, paint);
    }
  }
  return last;
}

int run_events(proxy::AdminClient& client, const EventsOptions& options,
               const text::Stdio& streams) {
  const text::ReportStyle style{.colour = wants_colour(streams.out)};
  const run::Interrupt interrupt;
  std::string last;
  do {
    const auto text = client.get("/events?follow=false", last);
    if (!text) {
      streams.err << "damper: " << text.error().sentence << '\n';
      return text.error().status;
    }
    const std::string seen = print_events(streams.out, *text, options.json, style);
    streams.out.flush();
    if (!seen.empty()) last = seen;
    if (options.follow) std::this_thread::sleep_for(options.interval);
  } while (options.follow && !run::Interrupt::flag().load() && streams.out);
  return kOk;
}

}  // namespace damper::cli
