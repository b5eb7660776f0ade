#include "damper/proxy/request/forward_fields.h"

#include <algorithm>

#include "damper/proxy/config/proxy_config.h"
#include "damper/schedule/deadline_header.h"

namespace damper::proxy {
namespace {

using http::same_name;

constexpr std::string_view kForwardedFor = "x-forwarded-for";
constexpr std::string_view kForwardedProto = "x-forwarded-proto";
constexpr std::string_view kExpect = "expect";
constexpr bool kValidated = true;  // written here, or validated: see Field::validated

}  // namespace

bool is_grpc(std::span<const http::Field> fields) noexcept {
  const auto type = http::find(fields, "content-type");
  return type && type->starts_with("application/grpc");
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

bool ForwardFields::is_passed(const http::Field& field) {
  const auto is = [&field](std::string_view name) { return same_name(field.name, name); };
  if (std::any_of(run::kReplacedFields.begin(), run::kReplacedFields.end(), is)) return false;
  if (is(kForwardedFor)) {
    if (!forwarded_for_.empty() && !field.value.empty()) forwarded_for_ += ", ";
    forwarded_for_ += field.value;
    return false;
  }
  const bool grpc_timeout = is(schedule::kGrpcTimeoutHeader);
  const bool envoy_timeout = is(schedule::kEnvoyTimeoutHeader);
  has_grpc_timeout_ |= grpc_timeout;
  has_envoy_timeout_ |= envoy_timeout;
  has_proto_ |= is(kForwardedProto);
  return !grpc_timeout && !envoy_timeout && !is(kExpect);
}

http::Head ForwardFields::make(const http::Head& request, const RouteConfig& route,
                               const ForwardContext& context) {
  has_grpc_timeout_ = has_envoy_timeout_ = has_proto_ = false;
  forwarded_for_.clear();
  fields_.clear();
  for (const http::Field& field : request.fields) {
    if (is_passed(field)) fields_.push_back(field);
  }
  const run::OutgoingContext outgoing{.remaining = context.remaining,
                                      .grpc_timeout = has_grpc_timeout_ || is_grpc(request.fields),
                                      .envoy_timeout = has_envoy_timeout_,
                                      .owner = context.owner,
                                      .owner_attempt = context.owner_attempt,
                                      .attempt = context.attempt};
  for (const run::OutgoingFields::Field& field : outgoing_.write(outgoing)) {
    fields_.push_back({field.name, field.value, kValidated});
  }
  if (!context.client.address.empty()) {
    if (!forwarded_for_.empty()) forwarded_for_ += ", ";
    forwarded_for_ += context.client.address;
  }
  if (!forwarded_for_.empty()) fields_.push_back({kForwardedFor, forwarded_for_});
  if (!has_proto_)
    fields_.push_back({kForwardedProto, context.client.secure ? "https" : "http", kValidated});

  http::Head head = request;
  head.scheme = context.scheme;
  head.fields = fields_;
  if (!route.host_rewrite.empty()) head.authority = route.host_rewrite;
  if (head.authority.empty()) head.authority = context.authority;
  if (!route.prefix_rewrite.empty() && head.target.starts_with('/')) {
    rewrite_prefix(request.target, route.match.prefix, route.prefix_rewrite, target_);
    head.target = target_;
  }
  return head;
}

}  // namespace damper::proxy
