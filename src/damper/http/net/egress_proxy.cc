#include "damper/http/net/egress_proxy.h"

#include <algorithm>
#include <array>

#include "damper/base/text/base64.h"
#include "damper/http/codec/h1_head.h"

namespace damper::http {

std::optional<std::string> find_error(const EgressProxy& proxy) {
  if (proxy.host.empty()) return "the proxy has no host";
  if (proxy.port == 0) return "the proxy's port is 0";
  const std::string& secret = proxy.credentials;
  if (secret.empty()) return std::nullopt;
  const bool printable =
      std::none_of(secret.begin(), secret.end(), [](char c) { return c >= 0 && c < ' '; });
  if (!printable || secret.size() > EgressProxy::kMostCredentials ||
      secret.find(':') == std::string::npos) {
    return "the proxy's credentials are not user:password, of at most " +
           std::to_string(EgressProxy::kMostCredentials) + " bytes";
  }
  return std::nullopt;
}

ConnectTunnel::ConnectTunnel(const EgressProxy& proxy, std::string_view address,
                             std::uint16_t port) {
  const bool v6 = address.find(':') != std::string_view::npos;
  std::string target;
  target.append(v6 ? "[" : "").append(address).append(v6 ? "]:" : ":");
  target.append(std::to_string(port));
  request_.append("CONNECT ").append(target).append(" HTTP/1.1\r\nHost: ").append(target);
  if (!proxy.credentials.empty()) {
    request_.append("\r\nProxy-Authorization: Basic ").append(text::to_base64(proxy.credentials));
  }
  request_.append("\r\n\r\n");
}

ConnectTunnel::Status ConnectTunnel::step(Transport& transport) {
  while (sent_ < request_.size()) {
    const auto sent = transport.send(std::string_view(request_).substr(sent_));
    if (sent.status == Transport::Status::again) return Status::to_write;
    if (sent.status != Transport::Status::ok) return Status::failed;
    sent_ += sent.bytes;
  }
  return read(transport);
}

ConnectTunnel::Status ConnectTunnel::read(Transport& transport) {
  std::array<char, kMostAnswer> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (received_ < kMostAnswer) {
    const auto got = transport.recv(std::span(bytes).first(kMostAnswer - received_));
    if (got.status == Transport::Status::again) return Status::to_read;
    if (got.status != Transport::Status::ok) return Status::failed;
    received_ += got.bytes;
    answer_.append(bytes.data(), got.bytes);
    if (const auto result = find_result()) return *result;
  }
  return Status::failed;
}

std::optional<ConnectTunnel::Status> ConnectTunnel::find_result() {
  for (;;) {
    H1Head head;
    switch (head.scan_response(answer_, {.max_bytes = kMostAnswer})) {
      case H1Head::Result::need_more: return std::nullopt;
      case H1Head::Result::refused: return Status::failed;
      case H1Head::Result::complete: break;
    }
    const int status = head.head().status;
    if (status >= 200 && status < 300) {
      return head.size() == answer_.size() ? Status::open : Status::failed;
    }
    if (status >= 200) return status == 403 || status >= 500 ? Status::refused : Status::failed;
    answer_.erase(0, head.size());  // An interim answer.
  }
}

bool TunnelRecord::on_refused(const std::string& target) {
  if (refused_.size() >= kMostTargets && refused_.find(target) == refused_.end()) refused_.clear();
  const auto [entry, is_new] = refused_.try_emplace(target, opened_);
  const bool counts = !is_new && entry->second < opened_;
  entry->second = opened_;
  return counts;
}

}  // namespace damper::http
