#include "damper/proxy/request/forward_fields.h"

#include "damper/decide/layering.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/schedule/deadline_header.h"

namespace damper::proxy {
namespace {

using http::same_name;

constexpr std::string_view kForwardedFor = "x-forwarded-for";
constexpr std::string_view kForwardedProto = "x-forwarded-proto";
constexpr std::string_view kExpect = "expect";
constexpr bool kSound = true;  // of our own making: nothing of the client's is in it

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

// By the length first: most fields are none of these.
bool ForwardFields::is_passed(const http::Field& field) {
  switch (field.name.size()) {
    case kExpect.size():
      return !same_name(field.name, kExpect);
    case schedule::kGrpcTimeoutHeader.size():
      if (!same_name(field.name, schedule::kGrpcTimeoutHeader)) return true;
      has_grpc_timeout_ = true;
      return false;
    case decide::kAttemptHeader.size():
      return !same_name(field.name, decide::kAttemptHeader);
    case kForwardedFor.size():
      if (!same_name(field.name, kForwardedFor)) return true;
      if (!forwarded_for_.empty() && !field.value.empty()) forwarded_for_ += ", ";
      forwarded_for_ += field.value;
      return false;
    case kForwardedProto.size():
      if (same_name(field.name, kForwardedProto)) has_proto_ = true;
      return true;
    case decide::kRetryOwnerHeader.size():
      static_assert(decide::kRetryOwnerHeader.size() == schedule::kRequestDeadlineHeader.size());
      return !same_name(field.name, decide::kRetryOwnerHeader) &&
             !same_name(field.name, schedule::kRequestDeadlineHeader);
    case schedule::kEnvoyTimeoutHeader.size():
      if (!same_name(field.name, schedule::kEnvoyTimeoutHeader)) return true;
      has_envoy_timeout_ = true;
      return false;
    default:
      return true;
  }
}

http::Head ForwardFields::make(const http::Head& request, const RouteConfig& route,
                               const ForwardWords& words) {
  has_grpc_timeout_ = has_envoy_timeout_ = has_proto_ = false;
  forwarded_for_.clear();
  fields_.clear();
  for (const http::Field& field : request.fields) {
    if (is_passed(field)) fields_.push_back(field);
  }
  if (words.remaining != kForever) {
    deadline_ = schedule::format_request_deadline(words.remaining);
    fields_.push_back({schedule::kRequestDeadlineHeader, deadline_, kSound});
    if (has_grpc_timeout_ || is_grpc(request.fields)) {
      grpc_timeout_ = schedule::format_grpc_timeout(words.remaining);
      fields_.push_back({schedule::kGrpcTimeoutHeader, grpc_timeout_, kSound});
    }
    if (has_envoy_timeout_) {  // Where 0 is no timeout at all.
      const std::string_view left = deadline_ == "0" ? "1" : std::string_view(deadline_);
      fields_.push_back({schedule::kEnvoyTimeoutHeader, left, kSound});
    }
  }
  if (!words.owner.empty()) fields_.push_back({decide::kRetryOwnerHeader, words.owner});
  const bool owned_above = words.owners_attempt != 0;
  attempt_ = decide::format_attempt(
      {.owned_above = owned_above, .attempt = owned_above ? words.owners_attempt : 1},
      words.attempt);
  fields_.push_back({decide::kAttemptHeader, attempt_, kSound});
  if (!words.client.address.empty()) {
    if (!forwarded_for_.empty()) forwarded_for_ += ", ";
    forwarded_for_ += words.client.address;
  }
  if (!forwarded_for_.empty()) fields_.push_back({kForwardedFor, forwarded_for_});
  if (!has_proto_)
    fields_.push_back({kForwardedProto, words.client.secure ? "https" : "http", kSound});

  http::Head head = request;
  head.scheme = words.scheme;
  head.fields = fields_;
  if (!route.host_rewrite.empty()) head.authority = route.host_rewrite;
  if (head.authority.empty()) head.authority = words.authority;
  if (!route.prefix_rewrite.empty() && head.target.starts_with('/')) {
    rewrite_prefix(request.target, route.match.prefix, route.prefix_rewrite, target_);
    head.target = target_;
  }
  return head;
}

}  // namespace damper::proxy
