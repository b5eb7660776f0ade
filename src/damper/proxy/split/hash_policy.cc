#include "damper/proxy/split/hash_policy.h"

#include <charconv>
#include <chrono>

#include "damper/base/text/hex.h"
#include "damper/http/peer/keyed_hash.h"

namespace damper::proxy {
namespace {

// Public, and never to be changed: keys would move between the proxies of two versions.
constexpr http::HashKey kPublicKey = {0x64616d7065722d68U, 0x6173682d6b65792dU};

std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<std::string_view> unless_empty(std::optional<std::string_view> text) noexcept {
  return text && !text->empty() ? text : std::nullopt;
}

}  // namespace

std::optional<HashPolicyError> find_error(const HashPolicy& policy) {
  const bool has_cookie = !policy.cookie.empty();
  const int sources = static_cast<int>(!policy.header.empty()) + static_cast<int>(has_cookie) +
                      static_cast<int>(policy.client_address);
  if (sources != 1) {
    const std::string_view last =
        policy.client_address ? "hash_policy.client_address" : "hash_policy.cookie";
    return HashPolicyError{
        sources == 0 ? "hash_policy.header" : last,
        "hash_policy must have exactly one of header, cookie and client_address"};
  }
  if (policy.ttl != HashPolicy::kNotMade && !has_cookie) {
    return HashPolicyError{"hash_policy.ttl", "hash_policy has a ttl but no cookie"};
  }
  if (policy.path != HashPolicy{}.path && policy.ttl == HashPolicy::kNotMade) {
    return HashPolicyError{"hash_policy.path",
                           "hash_policy has a path but no cookie with a ttl, which would be made"};
  }
  return std::nullopt;
}

std::uint64_t hash_key_of(std::string_view text) noexcept {
  return http::keyed_hash(kPublicKey, text);
}

std::optional<std::string_view> find_cookie(std::span<const http::Field> fields,
                                            std::string_view name) noexcept {
  for (const http::Field& field : fields) {
    if (!http::same_name(field.name, "cookie")) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const std::size_t end = rest.find(';');
      const std::string_view pair = trimmed(rest.substr(0, end));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      if (!pair.starts_with(name) || pair.size() == name.size() || pair[name.size()] != '=') {
        continue;
      }
      std::string_view value = pair.substr(name.size() + 1);
      if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
        value = value.substr(1, value.size() - 2);
      }
      return unless_empty(value);
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> find_key_text(const HashPolicy& policy,
                                              std::span<const http::Field> fields,
                                              std::string_view client_address) noexcept {
  if (!policy.header.empty()) return unless_empty(http::find(fields, policy.header));
  if (!policy.cookie.empty()) return find_cookie(fields, policy.cookie);
  return unless_empty(client_address);
}

CookieValue cookie_value(std::uint64_t random_bits) noexcept {
  CookieValue value;
  (void)text::put_hex(random_bits, value.data());
  return value;
}

void write_set_cookie(const HashPolicy& policy, std::string_view value, bool secure,
                      std::string& into) {
  into.assign(policy.cookie).append("=").append(value);
  if (policy.ttl > Duration{0}) {
    std::array<char, 20> digits{};
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(policy.ttl).count();
    char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), seconds).ptr;
    into.append("; Max-Age=").append(digits.data(), end);
  }
  into.append("; Path=").append(policy.path).append("; HttpOnly");
  if (secure) into.append("; Secure");
}

}  // namespace damper::proxy
