#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <memory>
#include <vector>

#include "damper/http/client/attempt_driver.h"
#include "damper/http/codec/connection.h"
#include "damper/http/net/loop.h"
#include "damper/proxy/data/route_admission.h"
#include "damper/proxy/request/access_log.h"
#include "damper/proxy/request/forward_fields.h"
#include "damper/proxy/request/proxied_request.h"

namespace damper::proxy {

// A RequestFactory creates a ProxiedRequest for each request that begins on one loop. It has what
// they share: the routes, the access log, scratch memory, and requests kept for reuse.
//
// Lifetime: the loop and the log outlive it. It outlives the servers that call on_request().
// Thread safety: none; one loop.
// Cost: up to kMostSpare unused requests are kept.
class RequestFactory final : public http::RequestSink, private http::Loop::TurnEnd {
 public:
  RequestFactory(http::Loop& loop, std::shared_ptr<const LoopTable> table, AccessSink& log);
  ~RequestFactory() override;

  [[nodiscard]] http::StreamUser& on_request(http::Stream& stream) override;
  // For requests that begin from now on.
  void use(std::shared_ptr<const LoopTable> table) { table_ = std::move(table); }
  [[nodiscard]] std::size_t under_way() const noexcept { return requests_.size() - ended_.size(); }

 private:
  friend class ProxiedRequest;
  static constexpr std::size_t kMostSpare = 256;
  using Requests = boost::intrusive::list<
      ProxiedRequest, boost::intrusive::member_hook<ProxiedRequest, decltype(ProxiedRequest::hook_),
                                                    &ProxiedRequest::hook_>>;

  void on_over(ProxiedRequest& request);
  void on_turn_end() override;

  http::Loop& loop_;
  AccessSink& log_;
  std::shared_ptr<const LoopTable> table_;
  http::WaitingLine waiting_;
  ForwardFields forward_;
  std::vector<http::Field> scratch_;    // the fields of the response that is being forwarded
  Requests requests_;                   // in use
  std::vector<ProxiedRequest*> ended_;  // of these, those that ended in this turn
  std::vector<std::unique_ptr<ProxiedRequest>> spare_;
};

}  // namespace damper::proxy
