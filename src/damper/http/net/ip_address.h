#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace damper::http {

// An IpAddress is an IPv4 or IPv6 address: 4 or 16 bytes in network order.
//
// Thread safety: a plain value. Cost: constexpr; no allocation but for text().
class IpAddress {
 public:
  using V4 = std::array<std::uint8_t, 4>;
  using V6 = std::array<std::uint8_t, 16>;

  constexpr explicit IpAddress(const V4& bytes) noexcept : v6_(false) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes_[i] = bytes[i];
  }
  constexpr explicit IpAddress(const V6& bytes) noexcept : bytes_(bytes), v6_(true) {}

  // Four decimal parts without leading zeros, or the text of RFC 4291, section 2.2, without a zone:
  // what inet_pton accepts. So neither "127.1" nor "0x7f.0.0.1".
  [[nodiscard]] static constexpr std::optional<IpAddress> find(std::string_view text) noexcept;

  [[nodiscard]] constexpr bool is_v6() const noexcept { return v6_; }
  [[nodiscard]] constexpr std::size_t bits() const noexcept { return v6_ ? 128 : 32; }
  // Network order; of IPv4 the first four.
  [[nodiscard]] constexpr const V6& bytes() const noexcept { return bytes_; }
  // The four bytes from `at` on, as an IPv4 address. REQUIRES: is_v6(), at <= 12.
  [[nodiscard]] constexpr IpAddress embedded(std::size_t at) const noexcept {
    return IpAddress(V4{bytes_[at], bytes_[at + 1], bytes_[at + 2], bytes_[at + 3]});
  }
  // An IPv4 address inside of IPv6 (::ffff:10.0.0.1, of a socket on [::]) as IPv4; others
  // unchanged.
  [[nodiscard]] constexpr IpAddress unmapped() const noexcept {
    if (!v6_ || bytes_[10] != 0xff || bytes_[11] != 0xff) return *this;
    for (std::size_t i = 0; i < 10; ++i) {
      if (bytes_[i] != 0) return *this;
    }
    return embedded(12);
  }
  [[nodiscard]] std::string text() const;

  friend constexpr bool operator==(const IpAddress&, const IpAddress&) = default;

 private:
  static constexpr std::optional<IpAddress> find_v4(std::string_view text) noexcept;
  static constexpr std::optional<IpAddress> find_v6(std::string_view text) noexcept;

  V6 bytes_{};
  bool v6_;
};

// A Network is the addresses that share the first `length` bits: "10.0.0.0/8".
struct Network {
  IpAddress base;
  std::size_t length;

  // "127.0.0.0/8", "::1/128", or one address. No bit is set after the first `length`.
  [[nodiscard]] static constexpr std::optional<Network> find(std::string_view text) noexcept;

  // Never of the other family.
  [[nodiscard]] constexpr bool contains(const IpAddress& address) const noexcept {
    if (address.is_v6() != base.is_v6()) return false;
    for (std::size_t bit = 0; bit < length; bit += 8) {
      const auto differs =
          static_cast<std::uint8_t>(address.bytes()[bit / 8] ^ base.bytes()[bit / 8]);
      const std::size_t counts = length - bit < 8 ? length - bit : 8;
      if (differs >> (8 - counts) != 0) return false;
    }
    return true;
  }
  // A network of IPv4 addresses inside of IPv6 (::ffff:10.0.0.0/104) as one of IPv4; others
  // unchanged.
  [[nodiscard]] constexpr Network unmapped() const noexcept {
    const IpAddress v4 = base.unmapped();
    return length < 96 || v4.is_v6() == base.is_v6() ? *this : Network{v4, length - 96};
  }
  [[nodiscard]] std::string text() const;

  friend constexpr bool operator==(const Network&, const Network&) = default;
};

// ---- Implementation ----------------------------------------------------------------------------

constexpr std::optional<IpAddress> IpAddress::find(std::string_view text) noexcept {
  return text.find(':') == std::string_view::npos ? find_v4(text) : find_v6(text);
}

constexpr std::optional<IpAddress> IpAddress::find_v4(std::string_view text) noexcept {
  V4 bytes{};
  std::size_t part = 0;
  std::size_t digits = 0;
  unsigned value = 0;
  for (const char c : text) {
    if (c == '.') {
      if (digits == 0 || part == 3) return std::nullopt;
      bytes[part++] = static_cast<std::uint8_t>(value);
      digits = 0;
      value = 0;
      continue;
    }
    if (c < '0' || c > '9' || (digits > 0 && value == 0)) return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
    if (++digits > 3 || value > 255) return std::nullopt;
  }
  if (part != 3 || digits == 0) return std::nullopt;
  bytes[3] = static_cast<std::uint8_t>(value);
  return IpAddress(bytes);
}

constexpr std::optional<IpAddress> IpAddress::find_v6(std::string_view text) noexcept {
  constexpr std::size_t kNoGap = 17;
  V6 bytes{};
  std::size_t size = 0;      // bytes so far
  std::size_t gap = kNoGap;  // where "::" stands
  if (text.starts_with("::")) {
    gap = 0;
    text.remove_prefix(2);
  } else if (text.starts_with(':')) {
    return std::nullopt;
  }
  while (!text.empty()) {
    const std::size_t colon = text.find(':');
    const std::string_view group = text.substr(0, colon);
    if (colon == std::string_view::npos && group.find('.') != std::string_view::npos) {
      const std::optional<IpAddress> v4 = find_v4(group);
      if (!v4 || size > 12) return std::nullopt;
      for (std::size_t i = 0; i < 4; ++i) bytes[size++] = v4->bytes_[i];
      break;
    }
    if (group.empty() || group.size() > 4 || size > 14) return std::nullopt;
    unsigned value = 0;
    for (const char c : group) {
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return std::nullopt;
      value = value * 16 + static_cast<unsigned>(digit);
    }
    bytes[size++] = static_cast<std::uint8_t>(value >> 8);
    bytes[size++] = static_cast<std::uint8_t>(value & 0xff);
    if (colon == std::string_view::npos) break;
    text.remove_prefix(colon + 1);
    if (text.empty()) return std::nullopt;  // "1:" is cut short.
    if (text.starts_with(':')) {
      if (gap != kNoGap) return std::nullopt;
      gap = size;
      text.remove_prefix(1);
    }
  }
  if (gap == kNoGap) return size == 16 ? std::optional(IpAddress(bytes)) : std::nullopt;
  if (size > 14) return std::nullopt;  // "::" stands for at least one group.
  V6 whole{};
  for (std::size_t i = 0; i < gap; ++i) whole[i] = bytes[i];
  for (std::size_t i = gap; i < size; ++i) whole[16 - size + i] = bytes[i];
  return IpAddress(whole);
}

constexpr std::optional<Network> Network::find(std::string_view text) noexcept {
  const std::size_t slash = text.find('/');
  const std::optional<IpAddress> base = IpAddress::find(text.substr(0, slash));
  if (!base) return std::nullopt;
  if (slash == std::string_view::npos) return Network{*base, base->bits()};
  const std::string_view digits = text.substr(slash + 1);
  if (digits.empty() || digits.size() > 3 || (digits[0] == '0' && digits.size() > 1)) {
    return std::nullopt;
  }
  std::size_t length = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    length = length * 10 + static_cast<std::size_t>(c - '0');
  }
  if (length > base->bits()) return std::nullopt;
  for (std::size_t bit = length; bit < base->bits(); ++bit) {
    if ((base->bytes()[bit / 8] >> (7 - bit % 8) & 1) != 0) return std::nullopt;
  }
  return Network{*base, length};
}

}  // namespace damper::http
