#include "damper/webhooks/outbox/outbox_sinks.h"

#include <atomic>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "damper/base/text/json_writer.h"

namespace damper::webhooks {
namespace {

using Kind = OutboxAnswer::Kind;

// Whether a dispatcher that answers with this status will never accept the message: 400, 404, 409,
// 413, 422. Not 401 and 403, which say that the token is wrong.
[[nodiscard]] constexpr bool is_final(int status) noexcept {
  return status == 400 || status == 404 || status == 409 || status == 413 || status == 422;
}

[[nodiscard]] OutboxAnswer failed(int status, std::string sentence) {
  return {.kind = is_final(status) ? Kind::refused : Kind::unavailable,
          .sentence = std::move(sentence)};
}

[[nodiscard]] Message message_of(const OutboxMessage& from) {
  return {.application = from.application,
          .type = from.type,
          .channel = from.channel,
          .ordering_key = from.ordering_key,
          .idempotency_key = from.key,
          .payload = from.payload};
}

[[nodiscard]] std::string body_of(const OutboxMessage& message) {
  std::ostringstream out;
  text::JsonWriter json(out);
  json.open('{');
  json.field("type", message.type);
  if (!message.channel.empty()) json.field("channel", message.channel);
  if (!message.ordering_key.empty()) json.field("ordering_key", message.ordering_key);
  json.field("idempotency_key", message.key);
  json.raw("payload", message.payload);
  json.close('}');
  return out.str();
}

// The answers of a batch, written on the loop and read after the last one.
struct Batch {
  explicit Batch(std::size_t size) : answers(size), missing(size) {}
  void on_answer(std::size_t i, OutboxAnswer answer) {
    answers[i] = std::move(answer);
    if (missing.fetch_sub(1) == 1) missing.notify_all();
  }
  void wait() const {
    for (std::size_t left = missing.load(); left > 0; left = missing.load()) missing.wait(left);
  }
  std::vector<OutboxAnswer> answers;
  std::atomic<std::size_t> missing;
};

}  // namespace

OutboxSink embedded_sink(http::Loop& loop, WebhookServer& server) {
  return [&loop, &server](std::span<const OutboxMessage> messages) {
    const auto batch = std::make_shared<Batch>(messages.size());
    loop.post([&server, batch, all = std::vector(messages.begin(), messages.end())] {
      for (std::size_t i = 0; i < all.size(); ++i) {
        server.send(message_of(all[i]), [batch, i](const Expected<Accepted, ApiError>& result) {
          batch->on_answer(
              i, result ? OutboxAnswer{.kind = Kind::accepted, .repeated = result->repeated}
                        : failed(result.error().status, result.error().sentence));
        });
      }
    });
    batch->wait();
    return std::move(batch->answers);
  };
}

OutboxSink api_sink(ApiClient::Options options) {
  auto client = std::make_shared<std::optional<ApiClient>>();
  return [options = std::move(options), client](std::span<const OutboxMessage> messages) {
    std::vector<OutboxAnswer> answers;
    answers.reserve(messages.size());
    if (!*client) {
      auto opened = ApiClient::open(options);
      if (!opened) {
        answers.resize(messages.size(), failed(0, opened.error().sentence));
        return answers;
      }
      client->emplace(*std::move(opened));
    }
    for (const OutboxMessage& message : messages) {
      const auto answer = (*client)->post("/v1/applications/" + message.application + "/messages",
                                          body_of(message));
      if (!answer) {
        answers.push_back(failed(answer.error().answer, answer.error().sentence));
        continue;
      }
      const text::JsonValue* const repeated = answer->json.find("repeated");
      answers.push_back(
          {.kind = Kind::accepted, .repeated = repeated != nullptr && repeated->boolean});
    }
    return answers;
  };
}

}  // namespace damper::webhooks
