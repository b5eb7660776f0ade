#pragma once

#include <functional>
#include <span>
#include <string>

#include "damper/base/instant.h"
#include "damper/http/client/pool.h"
#include "damper/http/client/round_trip.h"
#include "damper/http/net/dialer.h"
#include "damper/http/net/loop.h"
#include "damper/proxy/config/health_check_options.h"
#include "damper/proxy/health/replica_health.h"

namespace damper::proxy {

// A HealthProbe probes one endpoint, one probe at a time.
//
// Model: http and grpc send a request on a connection of their own pool, which is kept between
// probes if the server keeps it; tcp connects and closes. A probe passes if everything up to the
// end of the response is there within `timeout`: http with an expected status, grpc with SERVING. A
// response body over kMostBody is not read on: an http probe is decided by its status then.
// No verdict: a failure of this process (no file descriptor), and a timeout that the loop noticed
// later than half of it: it was stalled, and may have missed the response.
// Invariants:
//   (1) `done` is called once for each start(), later or from within, unless it is destroyed.
// Thread safety: none; one loop.
class HealthProbe final : private http::RoundTrip {
 public:
  using Done = std::function<void(ProbeOutcome outcome, const std::string& reason)>;
  static constexpr std::size_t kMostBody = std::size_t{16} * 1024;

  // What is referred to outlives it; `tls` is for https.
  HealthProbe(http::Dialer& dialer, const http::Endpoint& endpoint,
              const HealthCheckOptions& options, const http::PoolOptions& pool,
              const http::TlsSettings* tls, http::ClientMetrics& metrics, Done done);
  ~HealthProbe() override { RoundTrip::cancel(); }

  // REQUIRES: none is under way.
  void start();

 private:
  std::span<const http::Field> fields(const http::Request& request, Instant now) override;
  void on_round_trip(http::CloseReason reason) override;
  void on_dialed(const http::Dialer::Result& result);
  void on_timeout(Instant now);
  void end(http::CloseReason reason);
  void end(ProbeOutcome outcome, const std::string& reason);
  void judge();
  void judge_grpc();

  http::Dialer& dialer_;
  const http::Endpoint endpoint_;
  const HealthCheckOptions options_;
  const http::TlsSettings* const tls_;
  const Done done_;
  http::Request request_;
  Instant started_{};
  http::Pool pool_;
  http::Dialer::Dial dial_;  // tcp
  http::Loop::MemberTimer<HealthProbe> timeout_;
};

}  // namespace damper::proxy
