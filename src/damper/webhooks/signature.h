#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "damper/base/enum_names.h"
#include "damper/base/expected.h"
#include "damper/base/unix_time.h"
#include "damper/webhooks/key.h"

// Signatures of Standard Webhooks 1.0.0, for senders and receivers, in any HTTP server or client.
//
//   const auto headers = sign(keys, "msg_2Xk", now, body);             // the sender
//   const Verification result = verify(keys, received_headers(find), body, now);  // the receiver
//   if (result != Verification::valid) respond(400, name(result));
//
// Model: the signed content is the id, ".", the Unix time of the attempt in seconds, "." and the
// body's bytes. `webhook-signature` is a list of "VERSION,BASE64" with a space between them.
namespace damper::webhooks {

inline constexpr std::string_view kIdHeader = "webhook-id";
inline constexpr std::string_view kTimestampHeader = "webhook-timestamp";
inline constexpr std::string_view kSignatureHeader = "webhook-signature";

inline constexpr std::size_t kMostIdBytes = 256;
inline constexpr std::size_t kMostSignatures = 16;  // entries; also keys of a sender
inline constexpr std::size_t kMostEd25519 = 4;      // entries of v1a: each costs a verification
inline constexpr std::size_t kMostSignatureBytes = 4096;  // of the whole header
inline constexpr std::chrono::seconds kTolerance{300};    // as in the standard's libraries
inline constexpr std::chrono::seconds kMostTolerance{24 * 60 * 60};

// The values of the three headers of a request.
struct SignedHeaders {
  std::string id;
  std::string timestamp;
  std::string signature;
};

// Signs one attempt, with an entry for each key in the order of `keys`. During a rotation a sender
// has two keys, the new one first; receivers accept either.
//
// `id`: 1 to kMostIdBytes visible ASCII characters without ".", the same for all attempts of a
// message. `time`: of this attempt. The error is a sentence: no key, too many keys, an id or a time
// that cannot be signed.
// Thread safety: may be called concurrently.
[[nodiscard]] Expected<SignedHeaders> sign(std::span<const SigningKey> keys, std::string_view id,
                                           UnixTime time, std::string_view body);

// The headers as they were received; nullopt: the request has none of that name. A request that
// repeats one of them is to be refused, or to be given here with one of the values.
struct ReceivedHeaders {
  std::optional<std::string_view> id;
  std::optional<std::string_view> timestamp;
  std::optional<std::string_view> signature;
};

// The three headers, by a function that finds the value of a lower-case name:
//   received_headers([&](std::string_view name) { return request.fields.find(name); })
template <class Find>
[[nodiscard]] ReceivedHeaders received_headers(Find find) {
  return {.id = find(kIdHeader),
          .timestamp = find(kTimestampHeader),
          .signature = find(kSignatureHeader)};
}

// Why a message is not accepted: the first of these in this order.
enum class Verification : std::uint8_t {
  valid,
  missing_header,       // one of the three is not there, or is empty
  bad_id,               // longer than kMostIdBytes, a ".", or not visible ASCII
  bad_timestamp,        // not a decimal number of 1 to 12 digits without leading zeros
  too_old,              // more than `tolerance` before `now`
  too_new,              // more than `tolerance` after `now`
  too_many_signatures,  // over kMostSignatures, kMostEd25519 or kMostSignatureBytes
  no_match,             // no entry is a signature by one of the keys
};
inline constexpr EnumNames<Verification::no_match> kVerificationNames = {
    "valid",   "missing_header",      "bad_id",  "bad_timestamp", "too_old",
    "too_new", "too_many_signatures", "no_match"};

[[nodiscard]] constexpr std::string_view name(Verification verification) noexcept {
  return kVerificationNames[verification];
}

// Checks a received message. `body` is the raw body: parse it afterwards, not before.
//
// Invariants:
//   (1) It is valid only if an entry of the version of one of `keys` is that key's signature of
//       id, timestamp and body. Entries of other versions and malformed entries are skipped.
//   (2) A v1 entry is compared with CRYPTO_memcmp, and all entries with all keys: the time does not
//       depend on which of them match, or on how much of one does.
//   (3) An id with "." is refused. With it, the end of the id could be moved into the timestamp and
//       the timestamp into the body, under the same signature.
// A valid message may be a repetition, within `tolerance` even by an attacker: process an id once.
// REQUIRES: `tolerance` is 0 s to kMostTolerance.
// Thread safety: may be called concurrently. Cost: one HMAC for each v1 key; an Ed25519
// verification for each v1a key and v1a entry, of which each hashes the body: bound its size.
[[nodiscard]] Verification verify(std::span<const VerifyingKey> keys,
                                  const ReceivedHeaders& headers, std::string_view body,
                                  UnixTime now, std::chrono::seconds tolerance = kTolerance);

}  // namespace damper::webhooks
