#include "damper/proxy/import/import_manager.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/proxy/import/field_table.h"
#include "damper/proxy/import/import_log.h"

namespace damper::proxy {
namespace {

using config::SourceLocation;
using config::Tree;
using policy::Fields;
using policy::ImportNotes;

constexpr std::array<FieldRow, 4> kManagerRows = {{
    {"stream_idle_timeout", "stream_idle_timeout", As::limit},
    {"request_headers_timeout", "request_headers_timeout", As::limit},
    {"request_timeout", "message_timeout", As::limit},
    {"max_request_headers_kb", "max_request_headers", As::kibibytes},
}};
constexpr std::array<FieldRow, 3> kCommonRows = {{
    {"idle_timeout", "idle_timeout", As::limit},
    {"max_connection_duration", "max_connection_duration", As::limit},
    {"max_headers_count", "max_headers_count", As::integer},
}};
constexpr std::array<FieldRow, 2> kHttp2Rows = {{
    {"max_concurrent_streams", "max_concurrent_streams", As::integer},
    {"initial_stream_window_size", "initial_stream_window_size", As::integer},
}};

// Fields whose behaviour here is fixed, or set elsewhere.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kFixed = {{
    {"internal_address_config", "trust of the listener names the peers that are believed"},
    {"original_ip_detection_extensions", "trust and proxy_protocol determine the client's address"},
    {"xff_num_trusted_hops", "trust of the listener names the proxies whose fields are believed"},
    {"forward_client_cert_details",
     "x-forwarded-client-cert is removed from peers without trust, and written anew with mTLS"},
    {"set_current_client_cert_details", "x-forwarded-client-cert has Hash, Subject, URI and DNS"},
    {"preserve_external_request_id", "the id of a peer with trust is kept"},
    {"strip_matching_host_port", "hosts are matched without their port, and forwarded with it"},
    {"strip_any_host_port", "hosts are matched without their port, and forwarded with it"},
    {"rds", "its routes are not in this file"},
}};

void read_options(Fields& fields, PartDraft& listener, ImportNotes& notes) {
  take_rows(fields, kManagerRows, listener, notes);
  if (const Tree* common = fields.take("common_http_protocol_options")) {
    Fields inner(*common, "common_http_protocol_options", notes);
    take_rows(inner, kCommonRows, listener, notes);
    const Tree* action = inner.take("headers_with_underscores_action");
    if (action != nullptr && action->text != "ALLOW") {
      notes.left_out(action->place,
                     "headers_with_underscores_action has no equivalent: fields "
                     "with an underscore are forwarded");
    }
    inner.leave_rest();
  }
  if (const Tree* http2 = fields.take("http2_protocol_options")) {
    Fields inner(*http2, "http2_protocol_options", notes);
    take_rows(inner, kHttp2Rows, listener, notes);
    inner.leave_rest();
  }
  const Tree* codec = fields.take("codec_type");
  if (codec == nullptr) return;
  if (codec->text == "HTTP1") listener.set("protocol", "http1", codec->place);
  if (codec->text == "HTTP2") listener.set("protocol", "http2", codec->place);
}

void read_paths(Fields& fields, PartDraft& listener, ImportNotes& notes) {
  const auto normalizes = fields.boolean("normalize_path");
  const auto merges = fields.boolean("merge_slashes");
  const bool is_normal = normalizes && normalizes->value;
  const bool is_merged = merges && merges->value;
  if (is_normal || is_merged) {
    const SourceLocation place = is_normal ? normalizes->place : merges->place;
    listener.set("normalize_path", "true", place);
    if (!is_merged) notes.note(place, "normalize_path merges slashes too, as merge_slashes");
    if (!is_normal)
      notes.note(place,
                 "merge_slashes becomes normalize_path, which also removes "
                 "dot segments");
  }
  const Tree* action = fields.take("path_with_escaped_slashes_action");
  if (action == nullptr || action->text == "KEEP_UNCHANGED" ||
      action->text == "IMPLEMENTATION_SPECIFIC_DEFAULT") {
    return;
  }
  listener.set("escaped_slashes", "refuse", action->place);
  if (action->text == "REJECT_REQUEST") return;
  notes.note(action->place, "path_with_escaped_slashes_action " + text::in_quotes(action->text) +
                                " becomes escaped_slashes: refuse: nothing is unescaped");
}

// Envoy without use_remote_address believes x-forwarded-for of every peer.
void read_trust(Fields& fields, SourceLocation place, PartDraft& listener, ImportNotes& notes) {
  const auto remote = fields.boolean("use_remote_address");
  if (remote && remote->value) {
    listener.set("trust", make_list({"none"}, remote->place));
    return;
  }
  notes.note_once("use_remote_address", remote ? remote->place : place,
                  "without use_remote_address Envoy believes x-forwarded-for and x-envoy- fields "
                  "of every peer; here those of a loopback address alone: trust names the networks "
                  "of your own proxies");
}

// The file has one access log and one tracing: those of the first connection manager with one.
void read_logs(Fields& fields, EnvoyImport& file) {
  const std::span<const Tree> logs = fields.list("access_log");
  if (!logs.empty() && file.access_logs.empty()) {
    read_access_logs(logs, file.proxy, file.notes);
    file.access_logs = logs;
  } else if (!std::equal(logs.begin(), logs.end(), file.access_logs.begin(), file.access_logs.end(),
                         same_content)) {
    file.notes.left_out(fields.place_of("access_log"),
                        "the access log is one for all listeners: that of the first one");
  }
  const Tree* tracing = fields.take("tracing");
  if (tracing != nullptr && file.tracing == nullptr) {
    read_tracing(*tracing, file.proxy, file.notes);
    file.tracing = tracing;
  } else if (tracing != nullptr && !same_content(*tracing, *file.tracing)) {
    file.notes.left_out(tracing->place, "tracing is one for all listeners: that of the first one");
  }
}

}  // namespace

void read_connection_manager(const Tree& tree, PartDraft& listener, FilterTerms& terms,
                             EnvoyImport& file) {
  ImportNotes& notes = file.notes;
  Fields fields(tree, "the connection manager", notes);
  fields.skip({"@type", "stat_prefix", "route_config", "always_set_request_id_in_response"});
  read_options(fields, listener, notes);
  read_paths(fields, listener, notes);
  read_trust(fields, tree.place, listener, notes);
  read_logs(fields, file);
  const auto makes_ids = fields.boolean("generate_request_id");
  if (makes_ids && !makes_ids->value) {
    notes.left_out(makes_ids->place,
                   "generate_request_id: false has no equivalent: a request "
                   "without an id gets one");
  }
  if (fields.has("upgrade_configs")) {
    terms.upgrades_place = fields.place_of("upgrade_configs");
    read_upgrade_configs(fields.list("upgrade_configs"), terms.upgrades, notes);
  }
  read_http_filters(fields.list("http_filters"), terms, file);
  for (const auto& [field, why] : kFixed) fields.leave(field, why);
  fields.leave_rest();
}

}  // namespace damper::proxy
