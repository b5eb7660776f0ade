#include "damper/demo/storm_report.h"

#include <ostream>
#include <string_view>

namespace damper::demo {
namespace {

void print_list(std::ostream& out, std::string_view name, const std::vector<int>& values) {
  out << ",\"" << name << "\":[";
  const char* separator = "";
  for (const int value : values) {
    out << separator << value;
    separator = ",";
  }
  out << ']';
}

void print_fleet(std::ostream& out, std::string_view name, const Findings& findings,
                 const Buckets& buckets) {
  out << '"' << name << "\":{\"offered\":" << findings.offered << ",\"calls\":" << findings.calls
      << ",\"succeeded\":" << findings.succeeded << ",\"attempts\":" << findings.attempts
      << ",\"attempts_per_call_while_down\":" << findings.attempts_per_call
      << ",\"tallest_retries_in_100ms\":" << findings.tallest_retries << ",\"back_after_ms\":";
  if (findings.back_after) {
    out << *findings.back_after / std::chrono::milliseconds(1);
  } else {
    out << "null";
  }
  print_list(out, "first_tries_by_100ms", buckets.first_tries);
  print_list(out, "retries_by_100ms", buckets.retries);
  out << '}';
}

}  // namespace

void print_storm_json(std::ostream& out, const StormOptions& options, const StormRecord& record) {
  const Findings naive = find(record.naive, options);
  const Findings guarded = find(record.guarded, options);
  out << "{\"clients\":" << options.clients
      << ",\"down_from_ms\":" << options.calm / std::chrono::milliseconds(1)
      << ",\"down_until_ms\":" << options.back_at() / std::chrono::milliseconds(1) << ',';
  print_fleet(out, "naive", naive, bucketed(record.naive, options));
  out << ',';
  print_fleet(out, "guarded", guarded, bucketed(record.guarded, options));
  out << ",\"verdicts\":{";
  const char* separator = "";
  for (std::size_t i = 0; i < record.tally.verdicts.size(); ++i) {
    if (record.tally.verdicts[i] == 0) continue;
    out << separator << '"' << kVerdictNames[i] << "\":" << record.tally.verdicts[i];
    separator = ",";
  }
  out << "},\"promises\":[";
  separator = "";
  for (const Promise& promise : promises(naive, guarded)) {
    out << separator << "{\"promise\":\"" << promise.sentence
        << "\",\"held\":" << (promise.held ? "true" : "false") << '}';
    separator = ",";
  }
  out << "]}\n";
}

}  // namespace damper::demo
