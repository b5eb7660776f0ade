#include "damper/proxy/config/trust.h"

#include <algorithm>
#include <array>

#include "damper/base/check.h"
#include "damper/base/text/words.h"
#include "damper/decide/layering.h"
#include "damper/http/codec/chars.h"
#include "damper/schedule/deadline_header.h"

namespace damper::proxy {
namespace {

using http::IpAddress;

constexpr std::string_view kOwnPrefix = "damper-";
constexpr std::array<std::string_view, 3> kTrustedPrefixes = {"x-forwarded-", "x-envoy-",
                                                              kOwnPrefix};
constexpr std::array<std::string_view, 5> kTrustedNames = {"forwarded", "x-real-ip", "x-request-id",
                                                           schedule::kRequestDeadlineHeader,
                                                           decide::kGrpcPreviousAttemptsHeader};

// Without regard to case, '_' as '-'.
bool starts_with(std::string_view name, std::string_view prefix) noexcept {
  if (name.size() < prefix.size()) return false;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    const char c = name[i] == '_' ? '-' : http::lower(name[i]);
    if (c != prefix[i]) return false;
  }
  return true;
}

bool is_word(std::string_view text) {
  return text == Trust::kAuto || text == Trust::kAll || text == Trust::kNone;
}

// The address of a part of x-forwarded-for, which may have a port ("192.0.2.1:80", "[::1]:80").
// Empty: it has none.
std::string_view address_in(std::string_view part) {
  if (IpAddress::find(part)) return part;
  const bool v6 = part.starts_with('[');
  if (v6) part.remove_prefix(1);
  const std::size_t end = std::min(part.find(v6 ? ']' : ':'), part.size());
  const std::string_view address = part.substr(0, end);
  std::string_view port = part.substr(end);
  if (v6 && !port.empty()) port.remove_prefix(1);
  const auto found = IpAddress::find(address);
  const bool has_port = port.starts_with(':') && http::find_digits(port.substr(1), 5);
  const bool is_whole = v6 && end < part.size() && port.empty();
  return found && found->is_v6() == v6 && (has_port || is_whole) ? address : std::string_view();
}

}  // namespace

bool is_own_field(std::string_view name) noexcept { return starts_with(name, kOwnPrefix); }

bool is_trusted_field(std::string_view name) noexcept {
  return std::any_of(kTrustedPrefixes.begin(), kTrustedPrefixes.end(),
                     [&](std::string_view prefix) { return starts_with(name, prefix); }) ||
         std::any_of(kTrustedNames.begin(), kTrustedNames.end(), [&](std::string_view one) {
           return one.size() == name.size() && starts_with(name, one);
         });
}

Trust Trust::of(std::span<const std::string> words, bool loopback) {
  Trust trust;
  trust.peers_ = loopback && words.front() == kAuto ? http::PeerSet::all() : peers_of(words);
  return trust;
}

bool Trust::follow(std::string_view forwarded_for, std::string_view& client) const noexcept {
  while (trusts(client)) {
    if (forwarded_for.empty()) return true;
    const std::size_t comma = forwarded_for.rfind(',');
    const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
    const std::string_view part = http::trimmed(forwarded_for.substr(begin));
    forwarded_for = forwarded_for.substr(0, begin == 0 ? 0 : comma);
    if (part.empty()) continue;
    const std::string_view next = address_in(part);
    if (next.empty()) return false;
    client = next;
  }
  return false;
}

Expected<std::string> read_trust(std::string_view text) {
  return text == Trust::kAuto ? std::string(text) : read_peers(text);
}

Expected<std::string> read_peers(std::string_view text) {
  if (text == Trust::kAll || text == Trust::kNone) return std::string(text);
  if (const auto network = http::Network::find(text)) {
    const http::Network plain = network->unmapped();
    return plain == *network ? std::string(text) : plain.text();
  }
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos && IpAddress::find(text.substr(0, slash))) {
    return unexpected(std::string("its length is out of bounds, or it has bits after its length"));
  }
  return unexpected(std::string());
}

http::PeerSet peers_of(std::span<const std::string> words) {
  DAMPER_CHECK_VALID(find_peers_error(words));
  http::PeerSet peers;
  for (const std::string& word : words) {
    if (word == Trust::kAll) return http::PeerSet::all();
    if (const auto network = http::Network::find(word)) peers.add(*network);
  }
  return peers;
}

std::optional<std::string> find_peers_error(std::span<const std::string> words) {
  if (words.empty()) return "it is empty: write none";
  for (const std::string& word : words) {
    if (words.size() > 1 && is_word(word)) {
      return text::in_quotes(word) + " stands alone, without networks";
    }
  }
  return std::nullopt;
}

}  // namespace damper::proxy
