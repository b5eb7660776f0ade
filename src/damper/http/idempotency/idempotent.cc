#include "damper/http/idempotency/idempotent.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "damper/base/check.h"
#include "damper/run/clock.h"

namespace damper::http {
namespace {

struct Settings {
  Handler inner;
  IdempotencyStore& store;
  IdempotentOptions options;
};
using SettingsPtr = std::shared_ptr<const Settings>;

// Carries out one request: the exchange that the handler sees.
class FirstTime final : public WrappedExchange {
 public:
  FirstTime(SettingsPtr settings, const ExchangePtr& outer, std::string key, std::uint64_t token)
      : WrappedExchange(outer, outer->inherited()),
        settings_(std::move(settings)),
        key_(std::move(key)),
        token_(token) {}
  FirstTime(const FirstTime&) = delete;
  FirstTime& operator=(const FirstTime&) = delete;
  ~FirstTime() override {
    if (!answered_) finish(Response::plain(500, "The handler ended without a response.\n"));
  }

  void respond(Response response) override {
    if (!answered_) finish(std::move(response));
  }
  [[nodiscard]] bool is_over() const noexcept override { return answered_; }
  void on_cancel(std::function<void()>) override {}  // The work goes on: see the header.

 private:
  void finish(Response response) {
    answered_ = true;
    const IdempotentOptions& options = settings_->options;
    const bool not_done = options.not_done ? options.not_done(response) : means_not_done(response);
    if (not_done) {
      settings_->store.release(key_, token_);
    } else if (response.body.size() > options.longest_answer) {
      complete(Response::plain(
          409, "The request was carried out, and its answer was too long to be kept.\n"));
    } else {
      complete(response);
    }
    outer_->respond(std::move(response));
  }
  void complete(const Response& answer) {
    (void)settings_->store.complete(key_, token_, answer, settings_->options.now());
  }

  const SettingsPtr settings_;
  const std::string key_;
  const std::uint64_t token_;
  bool answered_ = false;
};

// The key as the store knows it: the principal's length first, so that no two pairs are one.
std::string stored_key(const IdempotentOptions& options, const Request& request,
                       std::string_view key) {
  const std::string principal = options.principal ? options.principal(request) : std::string();
  return std::to_string(principal.size()) + ":" + principal + std::string(key);
}

void run(const SettingsPtr& settings, const ExchangePtr& exchange, std::string key,
         const IdempotencyStore::Claim& claim) {
  const std::shared_ptr<FirstTime> first(
      new FirstTime(settings, exchange, std::move(key), claim.token), EndsOnTheLoop());
  first->request().fields.remove(kRecoveredHeader);
  if (claim.recovered) first->request().fields.set(kRecoveredHeader, "true");
  try {
    settings->inner(first);
  } catch (...) {
    first->respond(Response::plain(500, "The request was begun, and failed.\n"));
  }
}

Response refused(KeyState state, std::chrono::seconds retry_after) {
  Response response;
  if (state == KeyState::mismatch) {
    response = Response::plain(422, "The Idempotency-Key was used for another request.\n");
  } else if (state == KeyState::under_way) {
    response = Response::plain(409, "The request with this Idempotency-Key is under way.\n");
  } else {
    response = Response::plain(503, "The Idempotency-Key cannot be remembered now.\n");
  }
  response.fields.add(kIdempotencyHeader, name(state));
  if (state != KeyState::mismatch) {
    response.fields.add("retry-after", std::to_string(retry_after.count()));
  }
  return response;
}

void handle(const SettingsPtr& settings, const ExchangePtr& exchange) {
  const IdempotentOptions& options = settings->options;
  const Request& request = exchange->request();
  if (request.method != "POST" && request.method != "PATCH") return settings->inner(exchange);
  const auto fields = request.fields.view();
  const auto keys = std::count_if(fields.begin(), fields.end(), [](const Field& field) {
    return same_name(field.name, kIdempotencyKeyHeader);
  });
  if (keys == 0 && !options.required) return settings->inner(exchange);
  if (keys == 0) return exchange->respond(Response::plain(400, "This needs an Idempotency-Key.\n"));
  const std::string_view key = *request.fields.find(kIdempotencyKeyHeader);
  if (keys > 1 || !valid_key(key, options.longest_key)) {
    return exchange->respond(Response::plain(400, "Send one Idempotency-Key of at most " +
                                                      std::to_string(options.longest_key) +
                                                      " visible ASCII characters.\n"));
  }
  std::string stored = stored_key(options, request, key);
  IdempotencyStore::Claim claim =
      settings->store.claim(stored, fingerprint(request), options.now());
  if (claim.state == KeyState::first) return run(settings, exchange, std::move(stored), claim);
  if (claim.state == KeyState::replayed) {
    claim.answer->fields.set(kReplayedHeader, "true");
    return exchange->respond(*std::move(claim.answer));
  }
  exchange->respond(refused(claim.state, options.retry_after));
}

}  // namespace

std::optional<std::string> find_error(const IdempotentOptions& options) {
  return BoundsCheck()
      .field("longest_key", options.longest_key, options.kLongestKey)
      .field("longest_answer", options.longest_answer, options.kLongestAnswer)
      .field("retry_after", Duration{options.retry_after}, options.kRetryAfter)
      .error();
}

bool means_not_done(const Response& answer) noexcept {
  return answer.status == 408 || answer.status == 425 || answer.status == 429 ||
         answer.status == 503;
}

bool valid_key(std::string_view key, std::size_t longest) noexcept {
  return !key.empty() && key.size() <= longest &&
         std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

Handler idempotent(Handler inner, IdempotencyStore& store, IdempotentOptions options) {
  DAMPER_CHECK_VALID(find_error(options));
  if (!options.now) options.now = [] { return run::wall_time(); };
  auto settings =
      std::make_shared<const Settings>(Settings{std::move(inner), store, std::move(options)});
  return
      [settings = std::move(settings)](const ExchangePtr& exchange) { handle(settings, exchange); };
}

}  // namespace damper::http
