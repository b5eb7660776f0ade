#include "damper/http/client/round_trip.h"

#include <algorithm>

#include "damper/base/check.h"

namespace damper::http {

void RoundTrip::start(Pool& pool, const Request& request, std::size_t max_body) {
  DAMPER_CHECK(!is_under_way());
  request_ = &request;
  max_body_ = max_body;
  open(pool);
}

void RoundTrip::on_stream() {
  sent_ = 0;
  Head head = request_->head();
  head.scheme = pool().endpoint().scheme();
  if (head.authority.empty()) head.authority = pool().authority();
  head.fields = fields(*request_, pool().loop().now());
  stream().send_head(head, request_->body.empty());
  if (!request_->body.empty()) send_body();
}

void RoundTrip::send_body() {
  const std::string_view rest = std::string_view(request_->body).substr(sent_);
  sent_ += stream().send_data(rest, true);
}

void RoundTrip::on_writable() {
  if (sent_ < request_->body.size()) send_body();
}

void RoundTrip::on_head(const Head& head, bool end) {
  on_received(end);
  response_ = Response::from(head);
  if (!end && head.content_length && *head.content_length > max_body_) {
    return end_early(CloseReason::body_too_large);
  }
  if (!end && head.content_length) {
    response_.body.reserve(static_cast<std::size_t>(*head.content_length));
  }
  if (end && sent_ < request_->body.size()) end_early(CloseReason::finished);
}

void RoundTrip::on_data(std::string_view bytes) {
  if (bytes.size() > max_body_ - response_.body.size()) {
    return end_early(CloseReason::body_too_large);
  }
  response_.body += bytes;
  stream().consumed(bytes.size());
}

void RoundTrip::on_end(std::span<const Field> trailers) {
  on_received(true);
  if (!trailers.empty()) response_.trailers = FieldList(trailers);
  // A response before the request was written completely is valid: the rest is not needed.
  if (sent_ < request_->body.size()) end_early(CloseReason::finished);
}

void RoundTrip::end_early(CloseReason reason) {
  cancel();
  on_round_trip(reason);
}

}  // namespace damper::http
