#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/http/tls/tls_settings.h"
#include "damper/proxy/config/proxy_config.h"

namespace damper::proxy {

// A FileStamp tells one content of a file from another without reading it. The name is followed
// through symbolic links: a Kubernetes Secret swaps one beside the file.
struct FileStamp {
  std::uint64_t device = 0;  // all 0: there is no such file
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t modified = 0;  // nanoseconds
  std::int64_t changed = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
using FileStamps = std::vector<FileStamp>;
[[nodiscard]] FileStamps stamp_files(const std::vector<std::string>& files);

// The files of `tls`: certificates, keys, CAs. None if TLS is not used.
[[nodiscard]] std::vector<std::string> tls_files(const ListenerConfig& listener);
[[nodiscard]] std::vector<std::string> tls_files(const ClusterConfig& cluster);

// Reads them. One sentence: what is wrong, with the listener or the cluster. Nothing without TLS.
using MadeTls = Expected<std::optional<http::TlsSettings>>;
[[nodiscard]] MadeTls make_server_tls(const ListenerConfig& listener,
                                      std::shared_ptr<http::TicketKeys> keys);
[[nodiscard]] MadeTls make_client_tls(const ClusterConfig& cluster);

// That sentence with the file and the place of the key that it names. REQUIRES: the listener or the
// cluster is that of the configuration.
[[nodiscard]] std::string locate_tls_error(const ProxyConfig& config,
                                           const ListenerConfig& listener,
                                           const std::string& sentence);
[[nodiscard]] std::string locate_tls_error(const ProxyConfig& config, const ClusterConfig& cluster,
                                           const std::string& sentence);

// The CAs of tracing's collector cannot be used: one sentence, with its place.
[[nodiscard]] std::optional<std::string> find_tracing_ca_error(const ProxyConfig& config);

// Reads all of a configuration and keeps nothing: for `damper proxy --validate`. One sentence, with
// its place.
[[nodiscard]] std::optional<std::string> find_tls_error(const ProxyConfig& config);

}  // namespace damper::proxy
