#include "damper/proxy/health/health_probe.h"

#include <utility>

#include "damper/proxy/health/grpc_health.h"

namespace damper::proxy {
namespace {

using http::CloseReason;

http::Request request_of(const HealthCheckOptions& options) {
  http::Request request;
  request.authority = options.host;
  if (options.type == HealthCheckType::grpc) {
    request.method = "POST";
    request.target = kGrpcHealthPath;
    request.fields.add("content-type", "application/grpc");
    request.body = grpc_health_request(options.service);
  } else {
    request.target = options.path;
  }
  request.fields.add("user-agent", "damper-health-check");
  return request;
}

}  // namespace

HealthProbe::HealthProbe(http::Dialer& dialer, const http::Endpoint& endpoint,
                         const HealthCheckOptions& options, const http::PoolOptions& pool,
                         const http::TlsSettings* tls, http::ClientMetrics& metrics, Done done)
    : dialer_(dialer),
      endpoint_(endpoint),
      options_(options),
      tls_(tls),
      done_(std::move(done)),
      request_(request_of(options)),
      pool_(dialer, endpoint, pool, tls, metrics),
      timeout_(dialer.loop(), *this, &HealthProbe::on_timeout) {}

void HealthProbe::start() {
  started_ = dialer_.loop().now();
  timeout_.arm(add(started_, options_.timeout));
  if (options_.type != HealthCheckType::tcp) {
    return RoundTrip::start(pool_, request_, kMostBody, Excess::cut);
  }
  dial_ = dialer_.dial(
      endpoint_.host, endpoint_.port, tls_,
      [this](const http::Dialer::Result& result) { on_dialed(result); }, endpoint_.address);
}

std::span<const http::Field> HealthProbe::fields(const http::Request& request, Instant /*now*/) {
  return request.fields.view();
}

void HealthProbe::on_dialed(const http::Dialer::Result& result) {
  if (result.transport == nullptr) return end(result.reason);
  end(ProbeOutcome::passed, {});  // The result closes the connection.
}

void HealthProbe::on_timeout(Instant now) {
  const bool stalled = now > add(started_, options_.timeout + options_.timeout / 2);
  RoundTrip::cancel(true);
  dial_.reset();
  end(stalled ? ProbeOutcome::no_verdict : ProbeOutcome::failed,
      stalled ? "the event loop was stalled" : "timeout");
}

void HealthProbe::on_round_trip(CloseReason reason) {
  const bool cut = reason == CloseReason::body_too_large && is_answered() &&
                   options_.type == HealthCheckType::http;
  if (reason != CloseReason::finished && !cut) return end(reason);
  judge();
}

void HealthProbe::end(CloseReason reason) {
  const bool is_ours =
      http::is_local(reason) || reason == CloseReason::too_many || reason == CloseReason::cancelled;
  end(is_ours ? ProbeOutcome::no_verdict : ProbeOutcome::failed, std::string(name(reason)));
}

void HealthProbe::end(ProbeOutcome outcome, const std::string& reason) {
  timeout_.cancel();
  done_(outcome, reason);
}

void HealthProbe::judge() {
  if (options_.type == HealthCheckType::grpc) return judge_grpc();
  const int status = response().status;
  if (is_expected(options_.expected_statuses, status)) return end(ProbeOutcome::passed, {});
  end(ProbeOutcome::failed, "status " + std::to_string(status));
}

void HealthProbe::judge_grpc() {
  const http::Response& answer = response();
  if (answer.status != 200) {
    return end(ProbeOutcome::failed, "status " + std::to_string(answer.status));
  }
  auto status = answer.trailers.find("grpc-status");
  if (!status) status = answer.fields.find("grpc-status");  // A response without a message.
  if (status != "0") {
    const std::string known = status && status->size() <= 2 ? std::string(*status) : "none";
    return end(ProbeOutcome::failed, "grpc-status " + known);
  }
  const auto serving = find_grpc_health(answer.body);
  if (!serving) return end(ProbeOutcome::failed, "malformed gRPC message");
  if (*serving == kGrpcServing) return end(ProbeOutcome::passed, {});
  end(ProbeOutcome::failed, "serving status " + std::to_string(*serving));
}

}  // namespace damper::proxy
