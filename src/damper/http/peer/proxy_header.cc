#include "damper/http/peer/proxy_header.h"

#include <algorithm>
#include <array>

#include "damper/base/text/words.h"

namespace damper::http {
namespace {

constexpr std::string_view kText = "PROXY ";
constexpr std::string_view kSignature{"\r\n\r\n\0\r\nQUIT\n", 12};
constexpr std::size_t kFixedBytes = 16;  // of version 2: signature, command, family, length

constexpr ProxyHeader kMalformed{.status = ProxyHeader::Status::malformed};

ProxyHeader complete(std::size_t size, const std::optional<IpAddress>& client = std::nullopt) {
  return {.status = ProxyHeader::Status::complete, .size = size, .client = client};
}
ProxyHeader incomplete(std::string_view bytes) { return {.size = bytes.size()}; }

// The text up to the next space, which is removed with it; the last word has none.
std::string_view take_word(std::string_view& rest) {
  const std::size_t space = rest.find(' ');
  const std::string_view word = rest.substr(0, space);
  rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
  return word;
}

bool is_port(std::string_view text) {
  const bool has_zero = text.size() > 1 && text.front() == '0';
  return !has_zero && text::find_number<std::uint16_t>(text).has_value();
}

ProxyHeader read_text(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, ProxyHeader::kMaxTextBytes).find('\n');
  if (end == std::string_view::npos) {
    return bytes.size() < ProxyHeader::kMaxTextBytes ? incomplete(bytes) : kMalformed;
  }
  if (bytes[end - 1] != '\r') return kMalformed;
  std::string_view rest = bytes.substr(kText.size(), end - 1 - kText.size());
  const std::string_view family = take_word(rest);
  if (family == "UNKNOWN") return complete(end + 1);
  const bool v6 = family == "TCP6";
  if (!v6 && family != "TCP4") return kMalformed;
  const std::optional<IpAddress> source = IpAddress::find(take_word(rest));
  const std::optional<IpAddress> destination = IpAddress::find(take_word(rest));
  const std::string_view source_port = take_word(rest);
  const bool is_valid = source && destination && source->is_v6() == v6 &&
                        destination->is_v6() == v6 && is_port(source_port) && is_port(rest);
  return is_valid ? complete(end + 1, source->unmapped()) : kMalformed;
}

template <std::size_t Size>
std::array<std::uint8_t, Size> bytes_at(std::string_view bytes, std::size_t at) {
  std::array<std::uint8_t, Size> copy{};
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), Size, copy.begin());
  return copy;
}

ProxyHeader read_binary(std::string_view bytes) {
  if (bytes.size() < kFixedBytes) return incomplete(bytes);
  const auto [version_and_command, family, high, low] = bytes_at<4>(bytes, kSignature.size());
  if (version_and_command != 0x20 && version_and_command != 0x21) return kMalformed;
  const std::size_t length = (std::size_t{high} << 8) | low;
  const std::size_t size = kFixedBytes + length;
  if (size > ProxyHeader::kMaxBytes) return kMalformed;
  if (bytes.size() < size) return incomplete(bytes);
  if (version_and_command == 0x20) return complete(size);  // LOCAL
  switch (family) {
    case 0x00: return complete(size);  // UNSPEC
    case 0x11:                         // TCP over IPv4: addresses, then ports
      if (length < 12) return kMalformed;
      return complete(size, IpAddress(bytes_at<4>(bytes, kFixedBytes)));
    case 0x21:  // TCP over IPv6
      if (length < 36) return kMalformed;
      return complete(size, IpAddress(bytes_at<16>(bytes, kFixedBytes)).unmapped());
    case 0x31: return length < 216 ? kMalformed : complete(size);  // a Unix socket
    default: return kMalformed;
  }
}

}  // namespace

ProxyHeader ProxyHeader::read(std::string_view bytes) noexcept {
  if (bytes.starts_with(kText)) return read_text(bytes);
  if (bytes.starts_with(kSignature)) return read_binary(bytes);
  const bool may_follow = kText.starts_with(bytes) || kSignature.starts_with(bytes);
  return may_follow ? incomplete(bytes) : kMalformed;
}

}  // namespace damper::http
