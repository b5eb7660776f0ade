#include "damper/proxy/request/forward_fields.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>

#include "damper/decide/layering.h"
#include "damper/observe/trace/span_context.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/config/trust.h"
#include "damper/proxy/request/request_id.h"
#include "damper/schedule/deadline_header.h"

namespace damper::proxy {
namespace {

using http::same_name;

constexpr std::string_view kForwardedProto = "x-forwarded-proto";
constexpr std::string_view kExpect = "expect";
constexpr std::string_view kForwardedHost = "x-forwarded-host";
constexpr std::string_view kClientCertificate = "x-forwarded-client-cert";
// x-forwarded-client-cert, -for, -proto and -host, traceparent, tracestate, x-request-id.
constexpr std::size_t kMostOwnFields = run::OutgoingFields::kMost + 7;
constexpr bool kValidated = true;  // written here, or validated: see Field::validated

template <class Predicate>
std::span<const http::Field> without(std::span<const http::Field> fields,
                                     std::vector<http::Field>& scratch, Predicate removed) {
  if (std::none_of(fields.begin(), fields.end(), removed)) return fields;
  scratch.clear();
  std::remove_copy_if(fields.begin(), fields.end(), std::back_inserter(scratch), removed);
  return scratch;
}

// Adds a part to a list.
void append_part(std::string& list, std::string_view part) {
  if (!list.empty() && !part.empty()) list += ", ";
  list += part;
}

}  // namespace

std::span<const http::Field> without_own_fields(std::span<const http::Field> fields,
                                                std::vector<http::Field>& scratch) {
  return without(fields, scratch,
                 [](const http::Field& field) { return is_own_field(field.name); });
}

std::span<const http::Field> without_trusted_fields(std::span<const http::Field> fields,
                                                    std::vector<http::Field>& scratch) {
  return without(fields, scratch,
                 [](const http::Field& field) { return is_trusted_field(field.name); });
}

bool is_grpc(std::span<const http::Field> fields) noexcept {
  const auto type = http::find(fields, "content-type");
  return type && type->starts_with("application/grpc");
}

std::optional<int> find_grpc_status(std::span<const http::Field> fields) noexcept {
  const std::string_view text = http::find(fields, "grpc-status").value_or("");
  int status = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || text.size() > 2 || text[0] == '-') return std::nullopt;
  const auto [at, error] = std::from_chars(text.data(), end, status);
  return error == std::errc() && at == end ? std::optional(status) : std::nullopt;
}

void rewrite_prefix(std::string_view target, std::string_view prefix, std::string_view rewrite,
                    std::string& into) {
  std::string_view rest = target.substr(std::min(prefix.size(), target.size()));
  into = rewrite;
  const bool begins = rest.starts_with('/');
  if (into.ends_with('/') && begins) rest.remove_prefix(1);
  if (!into.ends_with('/') && !begins && !rest.empty() && rest.front() != '?') into += '/';
  into += rest;
}

bool ForwardFields::is_passed(const http::Field& field, const ForwardContext& context) {
  const auto is = [&field](std::string_view name) { return same_name(field.name, name); };
  if (std::any_of(run::kReplacedFields.begin(), run::kReplacedFields.end(), is)) return false;
  if (is(kForwardedForHeader)) {
    append_part(forwarded_for_, field.value);
    is_chain_validated_ &= field.validated;
    return false;
  }
  if (!context.traceparent.empty() &&
      (is(observe::kTraceparentHeader) || is(observe::kTracestateHeader))) {
    return false;
  }
  if (!context.client.certificate.empty() && is(kClientCertificate)) {
    append_part(certificates_, field.value);
    return false;
  }
  if (!context.request_id.empty() && is(kRequestIdHeader)) return false;
  const bool grpc_timeout = is(schedule::kGrpcTimeoutHeader);
  const bool envoy_timeout = is(schedule::kEnvoyTimeoutHeader);
  has_grpc_timeout_ |= grpc_timeout;
  has_envoy_timeout_ |= envoy_timeout;
  has_proto_ |= is(kForwardedProto);
  has_host_ |= is(kForwardedHost);
  return !grpc_timeout && !envoy_timeout && !is(kExpect);
}

http::Head ForwardFields::make(const http::Head& request, const RouteConfig& route,
                               const ForwardContext& context) {
  has_grpc_timeout_ = has_envoy_timeout_ = has_proto_ = has_host_ = false;
  is_chain_validated_ = true;
  forwarded_for_.clear();
  certificates_.clear();
  // Room for all, once: a check for each of them costs more than to write it.
  fields_.resize(request.fields.size() + kMostOwnFields);
  next_ = fields_.data();
  for (const http::Field& field : request.fields) {
    if (is_passed(field, context)) *next_++ = field;
  }
  const run::OutgoingContext outgoing{.remaining = context.remaining,
                                      .grpc_timeout = has_grpc_timeout_ || is_grpc(request.fields),
                                      .envoy_timeout = has_envoy_timeout_,
                                      .owner = context.owner,
                                      .owner_attempt = context.owner_attempt,
                                      .attempt = context.attempt};
  for (const run::OutgoingFields::Field& field : outgoing_.write(outgoing)) {
    *next_++ = {field.name, field.value, kValidated};
  }
  append_part(forwarded_for_, context.client.address);
  append_part(certificates_, context.client.certificate);
  if (!certificates_.empty()) *next_++ = {kClientCertificate, certificates_};
  if (!forwarded_for_.empty()) {
    *next_++ = {kForwardedForHeader, forwarded_for_, is_chain_validated_};
  }
  if (!has_proto_)
    *next_++ = {kForwardedProto, context.client.secure ? "https" : "http", kValidated};

  if (!context.traceparent.empty()) {
    *next_++ = {observe::kTraceparentHeader, context.traceparent, kValidated};
    if (!context.tracestate.empty()) {
      *next_++ = {observe::kTracestateHeader, context.tracestate};
    }
  }
  if (!context.request_id.empty()) {
    *next_++ = {kRequestIdHeader, context.request_id, kValidated};
  }
  if (!route.host_rewrite.empty() && !has_host_ && !request.authority.empty()) {
    *next_++ = {kForwardedHost, request.authority};
  }

  std::span<const http::Field> made(fields_.data(), next_);
  if (!route.request_fields.empty()) {
    fields_.resize(made.size());
    editor_.edit(route.request_fields,
                 {.client_address = context.client_address,
                  .request_id = context.request_id,
                  .host = request.authority,
                  .route = route.name},
                 fields_);
    made = fields_;
  }
  http::Head head = request;
  head.scheme = context.scheme;
  head.fields = made;
  if (!route.host_rewrite.empty()) head.authority = route.host_rewrite;
  if (head.authority.empty()) head.authority = context.authority;
  if (!route.prefix_rewrite.empty() && head.target.starts_with('/')) {
    rewrite_prefix(request.target, route.match.prefix, route.prefix_rewrite, target_);
    head.target = target_;
  }
  return head;
}

}  // namespace damper::proxy
