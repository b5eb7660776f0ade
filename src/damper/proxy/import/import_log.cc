#include "damper/proxy/import/import_log.h"

#include <algorithm>
#include <array>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/proxy/import/field_table.h"

namespace damper::proxy {
namespace {

using config::Tree;
using policy::Fields;
using policy::ImportNotes;
using policy::Placed;

// Envoy's operators, and our fields of the same meaning.
constexpr std::array<std::pair<std::string_view, std::string_view>, 26> kOperators = {{
    {"START_TIME", "time"},
    {"REQ(:METHOD)", "method"},
    {"REQ(X-ENVOY-ORIGINAL-PATH?:PATH)", "path"},
    {"REQ(:PATH)", "path"},
    {"PATH", "path"},
    {"REQ(:AUTHORITY)", "authority"},
    {"ROUTE_NAME", "route"},
    {"UPSTREAM_CLUSTER", "cluster"},
    {"UPSTREAM_HOST", "replica"},
    {"RESPONSE_CODE", "status"},
    {"RESPONSE_FLAGS", "verdict"},
    {"RESPONSE_CODE_DETAILS", "verdict"},
    {"UPSTREAM_REQUEST_ATTEMPT_COUNT", "attempts"},
    {"DURATION", "duration_ms"},
    {"RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)", "upstream_ms"},
    {"BYTES_RECEIVED", "bytes_in"},
    {"BYTES_SENT", "bytes_out"},
    {"REQ(TRACEPARENT)", "traceparent"},
    {"CONNECTION_TERMINATION_DETAILS", "closed"},
    {"DOWNSTREAM_REMOTE_ADDRESS", "client"},
    {"REQ(X-FORWARDED-FOR)", "client"},
    {"PROTOCOL", "protocol"},
    {"REQ(USER-AGENT)", "user_agent"},
    {"REQ(X-REQUEST-ID)", "request_id"},
    {"TRACE_ID", "trace_id"},
    {"REQ(REFERER)", "referer"},
}};

// The field of "%START_TIME(...)%"; empty if it has none.
std::string_view field_of(std::string_view value) {
  if (value.size() < 2 || !value.starts_with('%') || !value.ends_with('%')) return {};
  value = value.substr(1, value.size() - 2);
  std::string name(value);
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  if (name.starts_with("START_TIME")) return "time";
  if (name.starts_with("DOWNSTREAM_REMOTE_ADDRESS")) return "client";
  for (const auto& [theirs, ours] : kOperators) {
    if (theirs == name) return ours;
  }
  return {};
}

void read_json_format(const Tree& tree, PartDraft& proxy, ImportNotes& notes) {
  std::vector<std::string> fields;
  for (std::size_t i = 0; tree.is_map() && i < tree.pairs(); ++i) {
    const std::string_view field = field_of(tree.value(i).text);
    if (field.empty()) {
      notes.left_out(tree.key(i).place, "the field " + text::in_quotes(tree.key(i).text) +
                                            " of the access log has no equivalent");
    } else if (std::find(fields.begin(), fields.end(), field) == fields.end()) {
      fields.emplace_back(field);
    }
  }
  proxy.set("access_log_format", "json", tree.place);
  if (fields.empty()) return;
  proxy.set("access_log_fields", make_list(fields, tree.place));
  notes.note_once("access_log_fields", tree.place,
                  "the fields of the access log have names and an order of their own");
}

void read_format(Fields& fields, PartDraft& proxy, ImportNotes& notes) {
  const Tree* json = nullptr;
  const Tree* text = fields.take("format");
  for (const std::string_view old : {"json_format", "typed_json_format"}) {
    if (const Tree* format = fields.take(old)) json = format;
  }
  const Tree* format = fields.take("log_format");
  if (format != nullptr) {
    Fields inner(*format, "log_format", notes);
    if (const Tree* map = inner.take("json_format")) json = map;
    if (const Tree* words = inner.take("text_format")) text = words;
    if (const Tree* source = inner.take("text_format_source")) text = source;
    inner.skip({"omit_empty_values", "json_format_options"});
    inner.leave_rest();
  }
  if (json != nullptr) return read_json_format(*json, proxy, notes);
  const config::SourceLocation place = text == nullptr ? config::SourceLocation{} : text->place;
  proxy.set("access_log_format", "combined", place);
  if (text != nullptr) {
    notes.left_out(place, "the text format of the access log becomes access_log_format: combined");
  }
}

// Only failures, if the filter wants a status of 500 or more, or a flag; else all.
std::string_view read_filter_of(Fields& log, ImportNotes& notes) {
  const Tree* filter = log.take("filter");
  if (filter == nullptr) return "all";
  const Tree* flags = find_field(*filter, "response_flag_filter");
  const Tree* status = find_field(*filter, "status_code_filter");
  const Tree* comparison = status == nullptr ? nullptr : find_field(*status, "comparison");
  const Tree* operation = comparison == nullptr ? nullptr : find_field(*comparison, "op");
  const Tree* value = comparison == nullptr ? nullptr : find_field(*comparison, "value");
  const Tree* least = value == nullptr ? nullptr : find_field(*value, "default_value");
  const bool is_failure = flags != nullptr || (operation != nullptr && operation->text == "GE" &&
                                               least != nullptr && least->text == "500");
  if (!is_failure) {
    notes.left_out(filter->place,
                   "the filter of the access log has no equivalent: all requests are "
                   "logged");
    return "all";
  }
  notes.note(filter->place,
             "the filter becomes access_log: failures, requests without a response of the service "
             "or with a 5xx");
  return "failures";
}

}  // namespace

void read_access_logs(std::span<const Tree> logs, PartDraft& proxy, ImportNotes& notes) {
  bool is_read = false;
  for (const Tree& log : logs) {
    Fields fields(log, "access_log", notes);
    const std::string name = fields.text("name");
    const Tree* config = fields.take("typed_config");
    const std::string type = config == nullptr ? name : type_of(*config);
    const bool is_file = type == "FileAccessLog";
    const bool is_stream = type == "StdoutAccessLog" || type == "StderrAccessLog";
    if (config == nullptr || (!is_file && !is_stream) || is_read) {
      notes.left_out(log.place, "the access log " + text::in_quotes(name) +
                                    (is_read ? " is a further one and is left out"
                                             : " has no equivalent and is left out"));
      continue;
    }
    is_read = true;
    proxy.set("access_log", read_filter_of(fields, notes), log.place);
    fields.leave_rest();
    Fields inner(*config, "the access log", notes);
    inner.skip({"@type"});
    const Tree* path = inner.take("path");
    if (path != nullptr && path->text != "/dev/stdout") proxy.set("access_log_file", *path);
    read_format(inner, proxy, notes);
    inner.leave_rest();
  }
}

void read_tracing(const Tree& tree, PartDraft& proxy, ImportNotes& notes) {
  Fields fields(tree, "tracing", notes);
  const Tree* provider = fields.take("provider");
  const Tree* config = provider == nullptr ? nullptr : find_field(*provider, "typed_config");
  if (config == nullptr || type_of(*config) != "OpenTelemetryConfig") {
    notes.left_out(tree.place,
                   "tracing without the provider OpenTelemetry has no equivalent and is "
                   "left out");
    return;
  }
  Fields inner(*config, "OpenTelemetryConfig", notes);
  inner.skip({"@type"});
  const Tree* service = inner.take("http_service");
  const Tree* uri = service == nullptr ? nullptr : find_field(*service, "http_uri");
  if (uri == nullptr) {
    notes.left_out(config->place,
                   "tracing without an http_service is left out: spans are sent by OTLP over HTTP "
                   "to tracing.collector, such as http://127.0.0.1:4318");
    return;
  }
  Fields http(*uri, "http_uri", notes);
  const Tree* address = http.take("uri");
  if (address != nullptr) proxy.set("tracing.collector", *address);
  if (!proxy.has("tracing.collector")) return;
  if (const auto timeout = http.duration("timeout")) proxy.set("tracing.timeout", *timeout);
  http.skip({"cluster"});
  http.leave_rest();
  const std::array<FieldRow, 1> names = {{{"service_name", "tracing.service_name", As::text}}};
  take_rows(inner, names, proxy, notes);
  inner.leave_rest();
  const auto sampling = take_percent(fields, "random_sampling", notes);
  proxy.set("tracing.sampling", sampling.value_or(Placed<std::int64_t>{.value = 10'000}));
  fields.skip({"client_sampling"});
  fields.leave_rest();
}

}  // namespace damper::proxy
