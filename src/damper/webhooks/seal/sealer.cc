#include "damper/webhooks/seal/sealer.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <utility>

#include "damper/base/check.h"
#include "damper/base/text/base64.h"

namespace damper::webhooks {
namespace {

constexpr char kVersion = 1;
constexpr std::size_t kFingerprintBytes = 8;
constexpr std::size_t kNonceBytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t kTagBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr std::size_t kHeadBytes = 1 + kFingerprintBytes + kNonceBytes;
static_assert(Sealer::kKeyBytes == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);

void start_sodium() {
  static const bool kStarted = ::sodium_init() >= 0;
  DAMPER_CHECK(kStarted);
}

[[nodiscard]] const unsigned char* bytes_of(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}
[[nodiscard]] unsigned char* bytes_of(std::string& text) noexcept {
  return reinterpret_cast<unsigned char*>(text.data());
}

using IdBytes = std::array<unsigned char, 8>;
[[nodiscard]] IdBytes bytes_of(Id id) noexcept {
  IdBytes bytes{};
  auto rest = static_cast<std::uint64_t>(number(id));
  for (unsigned char& byte : bytes) {
    byte = static_cast<unsigned char>(rest);
    rest >>= 8;
  }
  return bytes;
}

[[nodiscard]] std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  return line.substr(0, line.find_last_not_of(kBlanks) + 1);
}

}  // namespace

struct Sealer::Key {
  explicit Key(std::string secret) : bytes(std::move(secret)) {
    std::array<unsigned char, crypto_generichash_BYTES> digest{};
    crypto_generichash(digest.data(), digest.size(), bytes_of(bytes), bytes.size(), nullptr, 0);
    fingerprint.assign(reinterpret_cast<const char*>(digest.data()), kFingerprintBytes);
  }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  ~Key() { sodium_memzero(bytes.data(), bytes.size()); }

  std::string bytes;
  std::string fingerprint;
};

Expected<Sealer> Sealer::parse(std::string_view text) {
  start_sodium();
  std::vector<std::shared_ptr<const Key>> keys;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), whole.size() + 1));
    const std::string_view line = trimmed(whole);
    if (line.empty() || line.starts_with('#')) continue;
    auto secret = text::find_base64(line);
    if (!secret || secret->size() != kKeyBytes) {
      return unexpected("line " + std::to_string(number) +
                        " is not a key: it must be 32 bytes as base64");
    }
    if (keys.size() == kMostKeys) {
      return unexpected("it has more than " + std::to_string(kMostKeys) + " keys");
    }
    keys.push_back(std::make_shared<const Key>(*std::move(secret)));
  }
  if (keys.empty()) return unexpected(std::string("it has no key"));
  return Sealer(std::move(keys));
}

std::string Sealer::make_key_file() {
  start_sodium();
  std::string secret(kKeyBytes, '\0');
  randombytes_buf(secret.data(), secret.size());
  std::string text =
      "# The key of the endpoints' secrets in the webhook store. Without it the store cannot be\n"
      "# read: keep a copy, apart from the copies of the store.\n";
  std::string line = text::to_base64(secret);
  text.append(line).append("\n");
  sodium_memzero(secret.data(), secret.size());
  sodium_memzero(line.data(), line.size());
  return text;
}

std::string Sealer::seal(Id endpoint, std::string_view plain) const {
  const Key& key = *keys_.front();
  const IdBytes id = bytes_of(endpoint);
  std::string sealed(kHeadBytes + plain.size() + kTagBytes, '\0');
  sealed[0] = kVersion;
  std::ranges::copy(key.fingerprint, sealed.begin() + 1);
  unsigned char* const nonce = bytes_of(sealed) + 1 + kFingerprintBytes;
  randombytes_buf(nonce, kNonceBytes);
  crypto_aead_xchacha20poly1305_ietf_encrypt(bytes_of(sealed) + kHeadBytes, nullptr,
                                             bytes_of(plain), plain.size(), id.data(), id.size(),
                                             nullptr, nonce, bytes_of(key.bytes));
  return sealed;
}

Expected<std::string> Sealer::unseal(Id endpoint, std::string_view sealed) const {
  if (sealed.size() < kHeadBytes + kTagBytes || sealed.front() != kVersion) {
    return unexpected(std::string("it was not encrypted by this program"));
  }
  const std::string_view fingerprint = sealed.substr(1, kFingerprintBytes);
  const auto key = std::ranges::find(
      keys_, fingerprint, [](const auto& each) -> std::string_view { return each->fingerprint; });
  if (key == keys_.end()) {
    return unexpected(std::string("it was encrypted with a key that the key file does not have"));
  }
  const IdBytes id = bytes_of(endpoint);
  const std::string_view body = sealed.substr(kHeadBytes);
  std::string plain(body.size() - kTagBytes, '\0');
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(
          bytes_of(plain), nullptr, nullptr, bytes_of(body), body.size(), id.data(), id.size(),
          bytes_of(sealed) + 1 + kFingerprintBytes, bytes_of((*key)->bytes)) != 0) {
    return unexpected(std::string("it was changed after it was encrypted"));
  }
  return plain;
}

bool Sealer::is_of_old_key(std::string_view sealed) const noexcept {
  return sealed.size() < kHeadBytes ||
         sealed.substr(1, kFingerprintBytes) != keys_.front()->fingerprint;
}

}  // namespace damper::webhooks
