#include "damper/webhooks/signature.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "damper/base/check.h"
#include "damper/base/text/base64.h"
#include "damper/webhooks/key_material.h"

namespace damper::webhooks {
namespace {

constexpr std::size_t kMostTimestampDigits = 12;  // the year 33658

bool is_valid_id(std::string_view id) noexcept {
  return !id.empty() && id.size() <= kMostIdBytes &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < 0x7f && c != '.'; });
}

std::optional<std::chrono::seconds> find_timestamp(std::string_view text) noexcept {
  if (text.empty() || text.size() > kMostTimestampDigits || (text[0] == '0' && text.size() > 1)) {
    return std::nullopt;
  }
  std::int64_t seconds = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    seconds = seconds * 10 + (c - '0');
  }
  return std::chrono::seconds(seconds);
}

// The signed content before the body.
std::string content_head(std::string_view id, std::string_view timestamp) {
  std::string head;
  head.reserve(id.size() + timestamp.size() + 2);
  return head.append(id).append(".").append(timestamp).append(".");
}

struct Entry {
  Scheme scheme;
  std::string signature;  // decoded
};

// The entries of known versions and of the right size; nullopt: there are too many entries.
std::optional<std::vector<Entry>> find_entries(std::string_view header) {
  if (header.size() > kMostSignatureBytes) return std::nullopt;
  std::vector<Entry> entries;
  std::size_t count = 0;
  std::size_t ed25519 = 0;
  while (!header.empty()) {
    const std::string_view text = header.substr(0, header.find(' '));
    header.remove_prefix(std::min(header.size(), text.size() + 1));
    if (text.empty()) continue;
    if (++count > kMostSignatures) return std::nullopt;
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) continue;
    const std::string_view version = text.substr(0, comma);
    if (version != name(Scheme::v1) && version != name(Scheme::v1a)) continue;
    const Scheme scheme = version == name(Scheme::v1) ? Scheme::v1 : Scheme::v1a;
    std::optional<std::string> signature = text::find_base64(text.substr(comma + 1));
    const std::size_t size =
        scheme == Scheme::v1 ? KeyMaterial::kHmacBytes : KeyMaterial::kSignatureBytes;
    if (!signature || signature->size() != size) continue;
    if (scheme == Scheme::v1a && ++ed25519 > kMostEd25519) return std::nullopt;
    entries.push_back({.scheme = scheme, .signature = *std::move(signature)});
  }
  return entries;
}

bool any_matches(std::span<const VerifyingKey> keys, const std::vector<Entry>& entries,
                 std::string_view head, std::string_view body) {
  const auto has = [&](Scheme scheme) {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const Entry& entry) { return entry.scheme == scheme; });
  };
  const bool has_v1 = has(Scheme::v1);
  const bool has_ed25519_key = std::any_of(keys.begin(), keys.end(), [](const VerifyingKey& key) {
    return key.scheme() == Scheme::v1a;
  });
  std::string content;  // in one piece, as Ed25519 needs it
  if (has_ed25519_key && has(Scheme::v1a)) content.append(head).append(body);
  bool matches = false;
  for (const VerifyingKey& key : keys) {
    if (key.scheme() == Scheme::v1 && !has_v1) continue;
    const KeyMaterial& material = key.material();
    const std::string mac = key.scheme() == Scheme::v1 ? material.hmac(head, body) : "";
    for (const Entry& entry : entries) {
      if (entry.scheme != key.scheme()) continue;
      const bool same = entry.scheme == Scheme::v1
                            ? CRYPTO_memcmp(mac.data(), entry.signature.data(), mac.size()) == 0
                            : material.verifies(entry.signature, content);
      matches = same || matches;  // No early end: see invariant (2).
    }
  }
  return matches;
}

}  // namespace

Expected<SignedHeaders> sign(std::span<const SigningKey> keys, std::string_view id, UnixTime time,
                             std::string_view body) {
  const auto is_ed25519 = [](const SigningKey& key) { return key.scheme() == Scheme::v1a; };
  if (std::count_if(keys.begin(), keys.end(), is_ed25519) > std::ptrdiff_t{kMostEd25519}) {
    return unexpected("a message is signed with at most " + std::to_string(kMostEd25519) +
                      " keys whsk_");
  }
  if (keys.empty() || keys.size() > kMostSignatures) {
    return unexpected("a message is signed with 1 to " + std::to_string(kMostSignatures) +
                      " keys; there are " + std::to_string(keys.size()));
  }
  if (!is_valid_id(id)) {
    return unexpected("a webhook-id has 1 to " + std::to_string(kMostIdBytes) +
                      " visible ASCII characters without '.'");
  }
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch());
  std::string timestamp = std::to_string(seconds.count());
  if (!find_timestamp(timestamp)) {
    return unexpected("a webhook-timestamp is from 0 to 999999999999; it is " + timestamp);
  }
  const std::string head = content_head(id, timestamp);
  std::string content;
  std::string signature;
  for (const SigningKey& key : keys) {
    const KeyMaterial& material = key.material();
    if (!signature.empty()) signature += ' ';
    signature.append(name(key.scheme())).append(",");
    if (key.scheme() == Scheme::v1) {
      signature += text::to_base64(material.hmac(head, body));
    } else {
      if (content.empty()) content.append(head).append(body);
      signature += text::to_base64(material.sign(content));
    }
  }
  return SignedHeaders{
      .id = std::string(id), .timestamp = std::move(timestamp), .signature = std::move(signature)};
}

Verification verify(std::span<const VerifyingKey> keys, const ReceivedHeaders& headers,
                    std::string_view body, UnixTime now, std::chrono::seconds tolerance) {
  DAMPER_CHECK(tolerance >= std::chrono::seconds(0) && tolerance <= kMostTolerance);
  const std::string_view id = headers.id.value_or("");
  const std::string_view timestamp = headers.timestamp.value_or("");
  const std::string_view signature = headers.signature.value_or("");
  if (id.empty() || timestamp.empty() || signature.empty()) return Verification::missing_header;
  if (!is_valid_id(id)) return Verification::bad_id;
  const auto seconds = find_timestamp(timestamp);
  if (!seconds) return Verification::bad_timestamp;
  const auto age = now.time_since_epoch() - *seconds;
  if (age > tolerance) return Verification::too_old;
  if (age < -tolerance) return Verification::too_new;
  const auto entries = find_entries(signature);
  if (!entries) return Verification::too_many_signatures;
  const bool matches = any_matches(keys, *entries, content_head(id, timestamp), body);
  return matches ? Verification::valid : Verification::no_match;
}

}  // namespace damper::webhooks
