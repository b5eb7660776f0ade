#include "damper/webhooks/key.h"

#include <unistd.h>

#include <array>
#include <optional>
#include <utility>

#include "damper/base/check.h"
#include "damper/base/text/base64.h"
#include "damper/webhooks/key_material.h"

namespace damper::webhooks {
namespace {

constexpr std::string_view kSecret = "whsec_";
constexpr std::string_view kPrivate = "whsk_";
constexpr std::string_view kPublic = "whpk_";

bool cut(std::string_view& text, std::string_view prefix) noexcept {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string bytes_error(std::string_view prefix, std::size_t size, std::string_view bound) {
  std::string error = "a key that begins with ";
  error.append(prefix).append(" has ").append(bound).append(" bytes; this one has ");
  return error.append(std::to_string(size));
}

std::string base64_error(std::string_view prefix) {
  std::string error = "the part of the key after ";
  return error.append(prefix).append(" is not padded base64 of the standard alphabet");
}

// Whether a public key is a point of small order: anybody can sign for some of these. Encodings of
// y = 0, 1 and -1, of the two y of order 8, and of p and p + 1, each with any sign.
bool has_small_order(std::string_view key) {
  constexpr std::array<std::string_view, 2> kOrderEight = {
      "\x26\xe8\x95\x8f\xc2\xb2\x27\xb0\x45\xc3\xf4\x89\xf2\xef\x98\xf0"
      "\xd5\xdf\xac\x05\xd3\xc6\x33\x39\xb1\x38\x02\x88\x6d\x53\xfc\x05",
      "\xc7\x17\x6a\x70\x3d\x4d\xd8\x4f\xba\x3c\x0b\x76\x0d\x10\x67\x0f"
      "\x2a\x20\x53\xfa\x2c\x39\xcc\xc6\x4e\xc7\xfd\x77\x92\xac\x03\x7a"};
  std::string y(key);
  y.back() = static_cast<char>(y.back() & 0x7f);
  if (y == kOrderEight[0] || y == kOrderEight[1]) return true;
  const auto first = static_cast<unsigned char>(y.front());
  const std::string_view rest = std::string_view(y).substr(1);
  const auto all = [](std::string_view bytes, char value) {
    return bytes.find_first_not_of(value) == std::string_view::npos;
  };
  const bool zero_or_one = first <= 1 && all(rest, 0);
  const bool near_p = first >= 0xec && first <= 0xee && y.back() == 0x7f &&
                      all(rest.substr(0, rest.size() - 1), static_cast<char>(0xff));
  return zero_or_one || near_p;
}

// The text of a key. The base64 is overwritten, since it is as secret as the bytes.
std::string joined(std::string_view prefix, std::string_view bytes) {
  std::string encoded = text::to_base64(bytes);
  std::string out;
  out.reserve(prefix.size() + encoded.size());  // No copy is left behind in a smaller buffer.
  out.append(prefix).append(encoded);
  cleanse(encoded);
  return out;
}

}  // namespace

Expected<VerifyingKey> VerifyingKey::parse(std::string_view text) {
  const bool is_public = cut(text, kPublic);
  if (!is_public && text.starts_with(kPrivate)) {
    return unexpected(
        std::string("a receiver's key begins with whsec_ or whpk_; whsk_ is the "
                    "sender's private key"));
  }
  if (!is_public) (void)cut(text, kSecret);
  std::optional<std::string> bytes = text::find_base64(text);
  if (!bytes) return unexpected(base64_error(is_public ? kPublic : kSecret));
  if (is_public) {
    if (bytes->size() != KeyMaterial::kEd25519Bytes) {
      return unexpected(bytes_error(kPublic, bytes->size(), "32"));
    }
    if (has_small_order(*bytes)) {
      return unexpected(
          std::string("the key after whpk_ is a point of small order: others can "
                      "sign for it"));
    }
    auto material = KeyMaterial::from_public(*std::move(bytes));
    if (material == nullptr) return unexpected(std::string("OpenSSL has no Ed25519"));
    return VerifyingKey(std::move(material));
  }
  if (bytes->empty() || bytes->size() > kMostSecretBytes) {
    cleanse(*bytes);
    return unexpected(bytes_error(kSecret, bytes->size(), "1 to 512"));
  }
  return VerifyingKey(std::make_shared<const KeyMaterial>(*std::move(bytes)));
}

Scheme VerifyingKey::scheme() const noexcept { return material_->scheme(); }

std::string VerifyingKey::text() const {
  if (scheme() == Scheme::v1) return joined(kSecret, material_->bytes());
  return joined(kPublic, material_->public_key());
}

Expected<SigningKey> SigningKey::parse(std::string_view text) {
  const bool is_private = cut(text, kPrivate);
  if (!is_private && !cut(text, kSecret)) {
    return unexpected(std::string("a sender's key begins with whsec_ or whsk_"));
  }
  std::optional<std::string> bytes = text::find_base64(text);
  if (!bytes) return unexpected(base64_error(is_private ? kPrivate : kSecret));
  const std::size_t size = bytes->size();
  if (!is_private) {
    if (size < kLeastSecretBytes || size > kMostSecretBytes) {
      cleanse(*bytes);
      return unexpected(bytes_error(kSecret, size, "24 to 64"));
    }
    return SigningKey(std::make_shared<const KeyMaterial>(*std::move(bytes)));
  }
  constexpr std::size_t kHalf = KeyMaterial::kEd25519Bytes;
  if (size != kHalf && size != 2 * kHalf) {
    cleanse(*bytes);
    return unexpected(bytes_error(kPrivate, size, "64 or 32"));
  }
  auto material = KeyMaterial::from_seed(bytes->substr(0, kHalf));
  const std::string stated = bytes->substr(kHalf);
  cleanse(*bytes);
  if (material == nullptr) return unexpected(std::string("OpenSSL has no Ed25519"));
  if (!stated.empty() && stated != material->public_key()) {
    return unexpected(
        std::string("the second half of a key that begins with whsk_ is the public "
                    "key of the first half; this one is not"));
  }
  return SigningKey(std::move(material));
}

SigningKey SigningKey::generate(Scheme scheme) {
  std::string bytes(KeyMaterial::kEd25519Bytes, '\0');
  DAMPER_CHECK(::getentropy(bytes.data(), bytes.size()) == 0);
  if (scheme == Scheme::v1) {
    return SigningKey(std::make_shared<const KeyMaterial>(std::move(bytes)));
  }
  auto material = KeyMaterial::from_seed(std::move(bytes));
  DAMPER_CHECK(material != nullptr);
  return SigningKey(std::move(material));
}

Scheme SigningKey::scheme() const noexcept { return material_->scheme(); }

std::string SigningKey::text() const {
  if (scheme() == Scheme::v1) return joined(kSecret, material_->bytes());
  std::string both(material_->bytes());
  both.reserve(2 * KeyMaterial::kEd25519Bytes);
  both += material_->public_key();
  std::string out = joined(kPrivate, both);
  cleanse(both);
  return out;
}

VerifyingKey SigningKey::verifying_key() const {
  if (scheme() == Scheme::v1) return VerifyingKey(material_);
  auto material = KeyMaterial::from_public(material_->public_key());
  DAMPER_CHECK(material != nullptr);
  return VerifyingKey(std::move(material));
}

}  // namespace damper::webhooks
