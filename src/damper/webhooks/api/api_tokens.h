#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/enum_names.h"
#include "damper/base/expected.h"

namespace damper::webhooks {

// What a token may do.
enum class ApiScope : std::uint8_t {
  send,    // messages
  read,    // everything but secrets
  manage,  // applications, endpoints, secrets, redrive, switches
};
inline constexpr EnumNames<ApiScope::manage> kApiScopeNames = {"send", "read", "manage"};

// ApiTokens are the tokens of the API's clients, from a file with one in each line:
//
//   # TOKEN APPLICATION|* SCOPES
//   3q2-7wEAAAB1c2VyLXRva2Vu  acme  send,read
//   9f86d081884c7d659a2feaa0  *     send,read,manage
//
// A token has 16 to 4096 visible characters. One with * is for all applications, and for what
// belongs to none: the list of applications, statistics, switches.
// Invariants:
//   (1) find() compares with every entry, and the time of a comparison depends on no token.
//   (2) No token is kept, only its SHA-256. No error has a token in it.
// Thread safety: const methods may be called concurrently.
class ApiTokens {
 public:
  static constexpr std::size_t kMostTokens = 1000;
  static constexpr std::size_t kMostFileBytes = std::size_t{4} * 1024 * 1024;

  struct Grant {
    std::string application;  // "*": all
    std::array<bool, kApiScopeNames.size()> scopes{};

    [[nodiscard]] bool has(ApiScope scope) const noexcept {
      return scopes[static_cast<std::size_t>(scope)];
    }
    [[nodiscard]] bool is_for_all() const noexcept { return application == "*"; }
    [[nodiscard]] bool is_for(std::string_view name) const noexcept {
      return is_for_all() || application == name;
    }
  };

  // Or one sentence with the line's number.
  [[nodiscard]] static Expected<ApiTokens> parse(std::string_view text);
  [[nodiscard]] static Expected<ApiTokens> read(const std::string& file);

  // nullptr: there is no such token.
  [[nodiscard]] const Grant* find(std::string_view token) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  using Digest = std::array<unsigned char, 32>;
  struct Entry {
    Digest digest;
    Grant grant;
  };
  std::vector<Entry> entries_;
};

}  // namespace damper::webhooks
