#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/bounds.h"
#include "damper/base/unix_time.h"
#include "damper/http/headers/idempotency_key.h"
#include "damper/http/idempotency/idempotency_store.h"
#include "damper/http/server/handler.h"

namespace damper::http {

// `true` on an answer from the store.
inline constexpr std::string_view kReplayedHeader = "idempotency-replayed";
// On a refusal: under_way, mismatch, full, broken. It separates the 409 of a request in progress
// from a version conflict.
inline constexpr std::string_view kIdempotencyHeader = "damper-idempotency";
// On a request whose first execution ended in a crash: the handler checks whether it was done.
inline constexpr std::string_view kRecoveredHeader = "damper-idempotency-recovered";

struct IdempotentOptions {
  static constexpr Range<std::size_t> kLongestKey{1, 1024};
  static constexpr Range<std::size_t> kLongestAnswer{0, std::size_t{1} << 30};
  static constexpr Range<Duration> kRetryAfter{std::chrono::seconds(1), std::chrono::hours(1)};

  bool required = false;          // a POST or PATCH without a key is answered 400
  std::size_t longest_key = 255;  // bytes
  std::size_t longest_answer = std::size_t{1} << 20;  // bytes of a body that is stored
  std::chrono::seconds retry_after{1};                // of a 409
  // The client's identity: each has key space of its own. Empty: all clients share one, and a
  // client that guesses a key and knows the request can read the answer.
  std::function<std::string(const Request&)> principal{};
  // Whether an answer means that nothing was done, so that the key may be used again. Empty:
  // means_not_done().
  std::function<bool(const Response&)> not_done{};
  std::function<UnixTime()> now{};  // empty: the system's
};

[[nodiscard]] std::optional<std::string> find_error(const IdempotentOptions& options);

// 408, 425, 429 and 503: the server did not begin. Every other answer is kept, 500, 502 and 504 as
// well: something may have been done, and doing it again is what a key is there to prevent. A
// handler that knows better answers 503.
[[nodiscard]] bool means_not_done(const Response& answer) noexcept;

// Whether this can be a key: 1 to `longest` visible ASCII characters.
[[nodiscard]] bool valid_key(std::string_view key, std::size_t longest) noexcept;

// The middleware that carries out a POST or PATCH with an Idempotency-Key once, however often it
// comes:
//   the first time        it is run; its answer is stored, then sent
//   again, the same       the stored answer, with idempotency-replayed: true
//   while it is under way 409, with Retry-After
//   another request       422: the key has been used
//   no valid key          400; also without one, when it is required
//   no room, or broken    503, with Retry-After: without the store nothing is run
// Other methods, and requests without a key, pass through.
//
// Model: a request is not cancelled when its client disconnects: the client will retry for the
// answer. So on_cancel is not called, and is_over() is false until the handler answers. If the
// handler releases the exchange without an answer, a 500 is sent and stored. An answer longer than
// `longest_answer` is sent, and a 409 is stored instead: to execute once has precedence over to
// answer twice.
// Put it inside a guard, so that what the guard refuses touches no store.
// After a crash a durable store hands the key out again when its lease has run out; whether the
// first one had done its work only the handler can find out (kRecoveredHeader).
// REQUIRES: !find_error(options); the store outlives the handler and all its exchanges.
[[nodiscard]] Handler idempotent(Handler inner, IdempotencyStore& store,
                                 IdempotentOptions options = {});

}  // namespace damper::http
