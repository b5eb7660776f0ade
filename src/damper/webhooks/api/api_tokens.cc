#include "damper/webhooks/api/api_tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/webhooks/key_material.h"
#include "damper/webhooks/model/endpoint.h"

namespace damper::webhooks {
namespace {

constexpr std::size_t kLeastTokenBytes = 16;
constexpr std::size_t kMostTokenBytes = 4096;
constexpr std::string_view kBlanks = " \t\r";

[[nodiscard]] std::array<unsigned char, 32> digest_of(std::string_view token) noexcept {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
  return digest;
}

// The next word of a line; empty at its end.
[[nodiscard]] std::string_view cut_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

[[nodiscard]] std::optional<std::string> read_scopes(std::string_view words,
                                                     ApiTokens::Grant& grant) {
  for (const std::string_view word : text::split(words)) {
    const auto scope = kApiScopeNames.find(word);
    if (!scope) {
      return "has the scope " + text::in_quotes(word) + "; there are " +
             text::joined(kApiScopeNames);
    }
    grant.scopes[static_cast<std::size_t>(*scope)] = true;
  }
  return std::nullopt;
}

}  // namespace

Expected<ApiTokens> ApiTokens::parse(std::string_view text) {
  ApiTokens tokens;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto wrong = [number](const std::string& sentence) {
      return unexpected("line " + std::to_string(number) + " " + sentence);
    };
    const std::string_view token = cut_word(line);
    if (token.empty() || token.starts_with('#')) continue;
    const std::string_view application = cut_word(line);
    const std::string_view scopes = cut_word(line);
    if (scopes.empty() || !cut_word(line).empty()) {
      return wrong("is not TOKEN APPLICATION SCOPES");
    }
    const bool visible = std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; });
    if (!visible || token.size() < kLeastTokenBytes || token.size() > kMostTokenBytes) {
      return wrong("has a token that is not 16 to 4096 visible characters");
    }
    if (application != "*" && !is_application_name(application)) {
      return wrong("has an application that is neither a name nor *");
    }
    Entry entry{.digest = digest_of(token), .grant = {.application = std::string(application)}};
    if (const auto error = read_scopes(scopes, entry.grant)) return wrong(*error);
    if (std::ranges::find(tokens.entries_, entry.digest, &Entry::digest) != tokens.entries_.end()) {
      return wrong("repeats a token");
    }
    if (tokens.entries_.size() == kMostTokens) return wrong("is one token too many");
    tokens.entries_.push_back(std::move(entry));
  }
  if (tokens.entries_.empty()) return unexpected(std::string("it has no token"));
  return tokens;
}

Expected<ApiTokens> ApiTokens::read(const std::string& file) {
  const std::string name = "the token file " + text::in_quotes(file);
  std::ifstream in(file, std::ios::binary);
  if (!in) return unexpected(name + " cannot be read");
  std::string text(kMostFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return unexpected(name + " cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMostFileBytes) return unexpected(name + " is larger than 4 MiB");
  auto tokens = parse(text);
  cleanse(text);
  if (!tokens) return unexpected(name + ": " + tokens.error());
  return tokens;
}

const ApiTokens::Grant* ApiTokens::find(std::string_view token) const noexcept {
  const Digest digest = digest_of(token);
  const Grant* found = nullptr;
  for (const Entry& entry : entries_) {  // (1): to the end
    if (CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0) {
      found = &entry.grant;
    }
  }
  return found;
}

}  // namespace damper::webhooks
