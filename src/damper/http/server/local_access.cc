#include "damper/http/server/local_access.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/http/net/ip_address.h"

namespace damper::http {
namespace {

constexpr std::size_t kShortestToken = 16;
constexpr std::size_t kLongestToken = 4096;
constexpr std::string_view kBearer = "bearer ";
constexpr std::string_view kSpace = " \t\r\n";

// The host of "host", "host:port", "[::1]:port".
std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    return end == std::string_view::npos ? authority : authority.substr(1, end - 1);
  }
  const std::size_t colon = authority.find(':');
  return authority.substr(0, colon);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

AccessRefusal refusal(AccessReason reason, int status, std::string sentence) {
  return {.reason = reason, .status = status, .sentence = std::move(sentence)};
}

// Whether a page of another site asks.
bool is_foreign(const Head& request) {
  const auto site = find(request.fields, "sec-fetch-site");
  if (site && *site != "same-origin" && *site != "none") return true;
  const auto origin = find(request.fields, "origin");
  if (!origin) return false;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin->starts_with(scheme)) {
      return !same_name(origin->substr(scheme.size()), request.authority);
    }
  }
  return true;
}

bool is_json(std::string_view content_type) {
  return same_name(trimmed(content_type.substr(0, content_type.find(';'))), "application/json");
}

}  // namespace

bool same_secret(std::string_view a, std::string_view b) noexcept {
  const auto digest = [](std::string_view text) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> out{};
    SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data());
    return out;
  };
  const auto of_a = digest(a);
  const auto of_b = digest(b);
  return CRYPTO_memcmp(of_a.data(), of_b.data(), of_a.size()) == 0;
}

bool is_loopback(std::string_view address) noexcept {
  return address == "::1" || (address.starts_with("127.") && IpAddress::find(address));
}

std::optional<std::string_view> find_bearer(const Head& request) noexcept {
  const auto given = find(request.fields, "authorization");
  if (!given || given->size() <= kBearer.size() ||
      !same_name(given->substr(0, kBearer.size()), kBearer)) {
    return std::nullopt;
  }
  return trimmed(given->substr(kBearer.size()));
}

Expected<std::string> read_token(const std::string& file) {
  const std::string name = "the token file " + text::in_quotes(file);
  std::ifstream in(file, std::ios::binary);
  std::string text(kLongestToken + 16, '\0');
  if (!in) return unexpected(name + " cannot be read");
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return unexpected(name + " cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  const std::string_view token = trimmed(text);
  const bool visible =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!visible || token.size() < kShortestToken || token.size() > kLongestToken) {
    return unexpected(name + " must hold one token of 16 to 4096 visible characters");
  }
  return std::string(token);
}

std::optional<AccessRefusal> LocalAccess::check_visit(const Head& request) const {
  if (!options_.loopback) return std::nullopt;
  const std::string_view host = host_of(request.authority);
  const bool known = IpAddress::find(host).has_value() || same_name(host, "localhost") ||
                     std::any_of(options_.names.begin(), options_.names.end(),
                                 [host](const std::string& name) { return same_name(host, name); });
  if (known) return std::nullopt;
  return refusal(AccessReason::host, 403, "unknown host name: use the IP address or localhost");
}

std::optional<AccessRefusal> LocalAccess::check_change(const Head& request) const {
  if (auto refusal = check_page(request)) return refusal;
  return check_token(request);
}

std::optional<AccessRefusal> LocalAccess::check_page(const Head& request) {
  if (is_foreign(request)) {
    return refusal(AccessReason::origin, 403, "pages of other sites may change nothing here");
  }
  const auto type = find(request.fields, "content-type");
  if (type ? !is_json(*type) : request.method == "PUT") {
    return refusal(AccessReason::content_type, 415, "Content-Type must be application/json");
  }
  return std::nullopt;
}

void LocalAccess::set_token_file(std::string file) {
  const std::lock_guard lock(mutex_);
  token_file_ = std::move(file);
}

std::optional<AccessRefusal> LocalAccess::check_token(const Head& request) const {
  std::string file;
  {
    const std::lock_guard lock(mutex_);
    file = token_file_;
  }
  if (file.empty()) {
    if (options_.loopback) return std::nullopt;
    return refusal(AccessReason::token, 401,
                   "this address is not loopback, and without a token_file nothing can be "
                   "changed here");
  }
  const auto token = read_token(file);
  if (!token) return refusal(AccessReason::token, 401, "the server cannot read its token file");
  if (!find(request.fields, "authorization")) {
    return refusal(AccessReason::token, 401, "a token is needed: Authorization: Bearer TOKEN");
  }
  const auto given = find_bearer(request);
  if (!given || !same_secret(*given, *token)) {
    return refusal(AccessReason::token, 401, "this is not the token");
  }
  return std::nullopt;
}

}  // namespace damper::http
