#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/instant.h"
#include "damper/http/codec/head.h"
#include "damper/http/codec/stream.h"
#include "damper/proxy/request/field_editor.h"
#include "damper/run/outgoing_fields.h"

namespace damper::proxy {

struct RouteConfig;

inline constexpr std::string_view kForwardedForHeader = "x-forwarded-for";

// What an attempt adds to the client's fields: see run::OutgoingContext.
struct ForwardContext {
  Duration remaining = kForever;
  std::string_view owner{};
  std::uint32_t owner_attempt = 0;
  std::uint32_t attempt = 1;
  http::Peer client{};
  std::string_view request_id{};      // printable ASCII, instead of the client's; empty: not sent
  std::string_view client_address{};  // before trusted proxies
  // Of our own span, instead of the client's traceparent and tracestate; empty: those are passed.
  std::string_view traceparent{};
  std::string_view tracestate{};
  std::string_view scheme{};     // of the replica
  std::string_view authority{};  // of the replica: for a request without one
};

// ForwardFields makes the head of one attempt from the client's.
//
// Model: all fields are forwarded in their order, except
//   x-request-deadline, grpc-timeout, x-envoy-expected-rq-timeout-ms   written anew with the time
//       that this attempt has (trap D2): the first always, the others where the request has them,
//       grpc-timeout for every gRPC request
//   damper-retry-owner, damper-attempt   written anew: ours, or those of the owner above
//   x-forwarded-for   one field with the client's address added at its end
//   x-forwarded-proto   added where there is none
//   x-forwarded-host   added where there is none, if host_rewrite replaces the authority
//   x-request-id   one field, of ForwardContext::request_id
//   traceparent, tracestate   replaced by those of the attempt's span, if there is one
//   x-forwarded-client-cert   a verified certificate of the client is added at its end
//   expect   removed: the proxy has answered it
// The request of a client that is not trusted has no is_trusted_field(): everything in them is
// ours. The route's request_fields are applied last. The codecs remove hop-by-hop fields.
// host_rewrite replaces the authority, prefix_rewrite the route's prefix.
// Thread safety: none; one for a loop. The head is valid until the next make().
// Cost: no allocation once it has made one as large.
class ForwardFields {
 public:
  [[nodiscard]] http::Head make(const http::Head& request, const RouteConfig& route,
                                const ForwardContext& context);

 private:
  [[nodiscard]] bool is_passed(const http::Field& field, const ForwardContext& context);

  std::vector<http::Field> fields_;
  http::Field* next_ = nullptr;  // of fields_, to be written
  std::string forwarded_for_;
  std::string certificates_;
  std::string target_;
  run::OutgoingFields outgoing_;
  FieldEditor editor_;
  bool has_grpc_timeout_ = false;
  bool has_envoy_timeout_ = false;
  bool has_proto_ = false;
  bool has_host_ = false;
  bool is_chain_validated_ = true;  // every part of forwarded_for_: see Field::validated
};

// The fields without damper-*, which only the proxy itself adds to a response. In `scratch` if one
// had to be removed.
[[nodiscard]] std::span<const http::Field> without_own_fields(std::span<const http::Field> fields,
                                                              std::vector<http::Field>& scratch);
// The same of is_trusted_field()s: for requests of strangers, and for trailers, where such fields
// have no meaning.
[[nodiscard]] std::span<const http::Field> without_trusted_fields(
    std::span<const http::Field> fields, std::vector<http::Field>& scratch);

// Whether the content-type is gRPC's.
[[nodiscard]] bool is_grpc(std::span<const http::Field> fields) noexcept;

// The value of grpc-status; nothing: there is none, or it is not a number of one or two digits.
[[nodiscard]] std::optional<int> find_grpc_status(std::span<const http::Field> fields) noexcept;

// The target with `rewrite` in the place of its prefix; they meet in one '/'.
void rewrite_prefix(std::string_view target, std::string_view prefix, std::string_view rewrite,
                    std::string& into);

}  // namespace damper::proxy
