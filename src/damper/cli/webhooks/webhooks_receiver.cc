#include "damper/cli/webhooks/webhooks_receiver.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "damper/base/text/json_reader.h"
#include "damper/base/text/plain_text.h"
#include "damper/run/clock.h"
#include "damper/webhooks/api/time_text.h"
#include "damper/webhooks/signature.h"

namespace damper::cli {
namespace {

using webhooks::Verification;

http::ServerOptions receiver_server(const ReceiverOptions& options) {
  http::ServerOptions server;
  server.address = options.address;
  server.port = options.port;
  return server;
}

// The field "type" of the payload; "-": it has none.
[[nodiscard]] std::string type_of(const std::string& body) {
  const auto payload =
      text::read_json(body, {.bytes = body.size(), .depth = 64, .values = 100'000});
  const text::JsonValue* const type = payload ? payload->find("type") : nullptr;
  return type != nullptr && type->as_string() ? text::printable(type->text, 128) : "-";
}

}  // namespace

class WebhookReceiver::Reset final : public http::StreamUser {
 public:
  Reset(WebhookReceiver& receiver, http::Stream& stream) : receiver_(receiver), stream_(stream) {}

  void on_head(const http::Head& head, bool /*end*/) override {
    const auto id = http::find(head.fields, webhooks::kIdHeader);
    ++receiver_.counts_.received;
    ++receiver_.counts_.refused;
    receiver_.print_line(id.value_or("-"), "-", receiver_.find_seen(id.value_or("")), "-", "reset");
    stream_.cancel();
    delete this;
  }
  void on_data(std::string_view /*bytes*/) override {}
  void on_end(std::span<const http::Field> /*trailers*/) override {}
  void on_close(http::CloseReason /*reason*/) override { delete this; }

 private:
  WebhookReceiver& receiver_;
  http::Stream& stream_;
};

class WebhookReceiver::Later final : public http::Loop::Timer {
 public:
  using Timer::Timer;
  void start(http::ExchangePtr exchange, http::Response response, Instant due) {
    exchange_ = std::move(exchange);
    response_ = std::move(response);
    arm(due);
  }
  [[nodiscard]] bool is_free() const noexcept { return exchange_ == nullptr; }

 private:
  void on_timer(Instant /*now*/) override {
    std::exchange(exchange_, nullptr)->respond(std::move(response_));
  }
  http::ExchangePtr exchange_;
  http::Response response_;
};

WebhookReceiver::WebhookReceiver(http::Loop& loop, ReceiverOptions options, std::ostream& out)
    : loop_(loop),
      options_(std::move(options)),
      out_(out),
      service_(loop, [this](const http::ExchangePtr& exchange) { answer(exchange); },
               {.max_request_body = kMostBody}),
      server_(loop, receiver_server(options_), static_cast<http::RequestSink&>(*this)) {}

WebhookReceiver::~WebhookReceiver() = default;

bool WebhookReceiver::in_trouble() {
  if (!first_) first_ = loop_.now();
  return loop_.now() < add(*first_, options_.trouble);
}

WebhookReceiver::Seen* WebhookReceiver::find_seen(std::string_view id) {
  if (id.empty()) return nullptr;
  const auto found = seen_.find(std::string(id));
  if (found == seen_.end() && seen_.size() == kMostIds) return nullptr;  // (1)
  Seen& seen = found != seen_.end() ? found->second : seen_[std::string(id)];
  ++seen.attempts;
  counts_.distinct = seen_.size();
  return &seen;
}

http::StreamUser& WebhookReceiver::on_request(http::Stream& stream) {
  if (options_.reset && in_trouble()) return *new Reset(*this, stream);
  return service_.on_request(stream);
}

void WebhookReceiver::answer(const http::ExchangePtr& exchange) {
  const http::Request& request = exchange->request();
  const bool trouble = in_trouble();
  const auto headers =
      webhooks::received_headers([&](std::string_view name) { return request.fields.find(name); });
  const std::string_view id = headers.id.value_or("");
  Seen* const seen = find_seen(id);
  const Verification result =
      options_.keys.empty()
          ? Verification::valid
          : webhooks::verify(options_.keys, headers, request.body, run::wall_time());
  const bool valid = result == Verification::valid;
  const int status = trouble && options_.fail ? *options_.fail : valid ? 204 : 400;
  const bool accepted = status < 300;
  ++counts_.received;
  if (!valid) ++counts_.invalid;
  if (trouble && options_.fail) ++counts_.refused;
  if (accepted && seen != nullptr && std::exchange(seen->accepted, true)) ++counts_.duplicates;
  print_line(id.empty() ? "-" : id, type_of(request.body), seen,
             options_.keys.empty() ? "not checked" : webhooks::name(result),
             std::to_string(status));
  http::Response response;
  response.status = status;
  if (!valid) response.body = std::string(webhooks::name(result)) + "\n";
  if (!trouble || options_.slow == Duration{0}) return exchange->respond(std::move(response));
  auto later = std::ranges::find_if(later_, [](const auto& one) { return one->is_free(); });
  if (later == later_.end()) {
    later = later_.insert(later_.end(), std::make_unique<Later>(loop_));
  }
  (*later)->start(exchange, std::move(response), add(loop_.now(), options_.slow));
}

void WebhookReceiver::print_line(std::string_view id, std::string_view type, const Seen* seen,
                                 std::string_view result, std::string_view answered) {
  const std::string attempts = seen == nullptr ? "-" : std::to_string(seen->attempts);
  out_ << webhooks::time_text(run::wall_time()).substr(11, 12) << "  "
       << text::padded_right(text::printable(id, 64), 17) << "  " << text::padded_right(type, 20)
       << "  attempt " << attempts << "  " << result << "  " << answered << '\n'
       << std::flush;
}

void WebhookReceiver::print_summary() const {
  out_ << text::with_commas(static_cast<std::int64_t>(counts_.received)) << " received, "
       << text::with_commas(static_cast<std::int64_t>(counts_.distinct)) << " distinct ids, "
       << text::with_commas(static_cast<std::int64_t>(counts_.duplicates))
       << " duplicates of accepted ones, "
       << text::with_commas(static_cast<std::int64_t>(counts_.invalid)) << " invalid, "
       << text::with_commas(static_cast<std::int64_t>(counts_.refused)) << " refused\n";
}

}  // namespace damper::cli
