#include "damper/http/client/round_trip.h"

#include <algorithm>

#include "damper/base/check.h"

namespace damper::http {

void RoundTrip::start(Pool& pool, const Request& request, std::size_t max_body) {
  DAMPER_CHECK(!is_under_way());
  pool_ = &pool;
  request_ = &request;
  max_body_ = max_body;
  reopenings_ = 0;
  answered_ = false;
  whole_ = false;
  stream_ = nullptr;
  pool.open(*this);
}

void RoundTrip::on_open(Stream& stream) {
  stream_ = &stream;
  sent_ = 0;
  Head head = request_->head();
  head.scheme = pool_->endpoint().scheme();
  if (head.authority.empty()) head.authority = pool_->authority();
  head.fields = fields(*request_, pool_->loop().now());
  stream.send_head(head, request_->body.empty());
  if (!request_->body.empty()) send_body();
}

void RoundTrip::send_body() {
  const std::string_view rest = std::string_view(request_->body).substr(sent_);
  sent_ += stream_->send_data(rest, true);
}

void RoundTrip::on_writable() {
  if (sent_ < request_->body.size()) send_body();
}

void RoundTrip::on_head(const Head& head, bool end) {
  answered_ = true;
  whole_ = end;
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
  stream_->consumed(bytes.size());
}

void RoundTrip::on_end(std::span<const Field> trailers) {
  whole_ = true;
  if (!trailers.empty()) response_.trailers = FieldList(trailers);
  // An answer before all of the request was taken is an answer: the rest is not wanted.
  if (sent_ < request_->body.size()) end_early(CloseReason::finished);
}

void RoundTrip::end_early(CloseReason reason) {
  cancel();
  on_done(reason);
}

void RoundTrip::on_over(CloseReason reason, bool unsent) {
  const bool had_stream = stream_ != nullptr;
  stream_ = nullptr;
  if (whole_) return on_done(CloseReason::finished);
  if (unsent && had_stream && reason == CloseReason::refused && reopenings_ < kReopenings) {
    ++reopenings_;
    return pool_->open(*this);
  }
  // The peer closed its side and never finished its answer: not a good end.
  on_done(reason == CloseReason::finished ? CloseReason::reset : reason);
}

}  // namespace damper::http
