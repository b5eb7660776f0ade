#ifndef DAMPER_PROXY_REQUEST_FORWARD_FIELDS_H_
#define DAMPER_PROXY_REQUEST_FORWARD_FIELDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/instant.h"
#include "damper/http/codec/head.h"
#include "damper/http/codec/stream.h"

namespace damper::proxy {

struct RouteConfig;

// What one attempt says beside what the client said.
struct ForwardWords {
  Duration remaining = kForever;  // of the attempt's time, less the reserve; kForever: no deadline
  std::string_view owner{};       // who retries; empty: nobody
  std::uint32_t owners_attempt = 0;  // of an owner above; 0: `attempt` is said
  std::uint32_t attempt = 1;
  http::Peer client{};           // whom the request came from
  std::string_view scheme{};     // of the replica
  std::string_view authority{};  // of the replica: for a request without one
};

// ForwardFields writes the head of one attempt: the client's, with what a hop has to change.
//
// Model: all fields pass, in their order, but
//   x-request-deadline, grpc-timeout, x-envoy-expected-rq-timeout-ms   written anew with the time
//       that this attempt has (trap D2): the first always, the others where the request has them,
//       grpc-timeout for every gRPC request
//   damper-retry-owner, damper-attempt   written anew: ours, or those of the owner above
//   x-forwarded-for   one field with the client's address added at its end
//   x-forwarded-proto   added where there is none
//   expect   ours was answered, and nobody waits for the replica's
// What is about one hop the codecs leave out. host_rewrite takes the place of the authority,
// prefix_rewrite that of the route's prefix.
// Invariants:
//   (1) What is said of the time never is more than remains.
// Thread safety: none; one for a loop. The head is good until the next one is made.
// Cost: no allocation once it has made one as large.
class ForwardFields {
 public:
  [[nodiscard]] http::Head make(const http::Head& request, const RouteConfig& route,
                                const ForwardWords& words);

 private:
  [[nodiscard]] bool is_passed(const http::Field& field);

  std::vector<http::Field> fields_;
  std::string forwarded_for_;
  std::string target_;
  std::string deadline_;
  std::string grpc_timeout_;
  std::string attempt_;
  bool has_grpc_timeout_ = false;
  bool has_envoy_timeout_ = false;
  bool has_proto_ = false;
};

// Whether a message is one of gRPC: its content-type says so.
[[nodiscard]] bool is_grpc(std::span<const http::Field> fields) noexcept;

// The target with `rewrite` in the place of its prefix; they meet in one '/'.
void rewrite_prefix(std::string_view target, std::string_view prefix, std::string_view rewrite,
                    std::string& into);

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_REQUEST_FORWARD_FIELDS_H_
