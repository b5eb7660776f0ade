#include "damper/proxy/data/tls_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "damper/http/client/url.h"
#include "damper/proxy/config/proxy_check.h"
#include "damper/proxy/config/proxy_schema.h"

namespace damper::proxy {
namespace {

bool uses_tls(const ClusterConfig& cluster) {
  return std::any_of(cluster.endpoints.begin(), cluster.endpoints.end(),
                     [](const std::string& text) { return text.starts_with("https"); });
}

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void add_files(std::vector<std::string>& files, const http::TlsIdentity& identity) {
  if (!identity.certificate_file.empty()) files.push_back(identity.certificate_file);
  if (!identity.key_file.empty()) files.push_back(identity.key_file);
}

bool names(std::string_view sentence, std::string_view file) {
  return !file.empty() && sentence.find("_file " + std::string(file)) != std::string_view::npos;
}

// At `key`, or else at the first key of tls that the sentence has as a word before its file.
template <class T>
std::string located(const std::string& file, const config::Schema<T>& schema,
                    const config::Reading& reading, const std::string& sentence,
                    std::string_view key) {
  std::size_t first = sentence.size();
  const bool is_given = !key.empty();
  for (const config::Key& one : schema.keys()) {
    if (is_given || !one.path.starts_with("tls.") || !one.path.ends_with("_file")) continue;
    const std::size_t found = sentence.find(' ' + std::string(config::leaf(one.path)) + ' ');
    if (found >= first) continue;
    first = found;
    key = one.path;
  }
  const config::SourceLocation place = key.empty() ? reading.place : schema.place_of(reading, key);
  return to_string(config::Error{file, place, sentence});
}

}  // namespace

FileStamps stamp_files(const std::vector<std::string>& files) {
  FileStamps stamps;
  stamps.reserve(files.size());
  for (const std::string& file : files) {
    struct stat found {};
    FileStamp& stamp = stamps.emplace_back();
    if (::stat(file.c_str(), &found) != 0) continue;
    stamp = {.device = found.st_dev,
             .inode = found.st_ino,
             .size = found.st_size,
             .modified = nanoseconds(found.st_mtim),
             .changed = nanoseconds(found.st_ctim)};
  }
  return stamps;
}

std::vector<std::string> tls_files(const ListenerConfig& listener) {
  std::vector<std::string> files;
  if (!listener.tls) return files;
  add_files(files, listener.tls->identity);
  for (const auto& one : listener.tls->certificates) add_files(files, one.identity);
  if (!listener.tls->client_ca_file.empty()) files.push_back(listener.tls->client_ca_file);
  return files;
}

std::vector<std::string> tls_files(const ClusterConfig& cluster) {
  std::vector<std::string> files;
  if (!uses_tls(cluster)) return files;
  add_files(files, cluster.tls.identity);
  if (!cluster.tls.ca_file.empty()) files.push_back(cluster.tls.ca_file);
  return files;
}

MadeTls make_server_tls(const ListenerConfig& listener, std::shared_ptr<http::TicketKeys> keys) {
  if (!listener.tls) return std::optional<http::TlsSettings>();
  http::TlsServerOptions options = *listener.tls;
  options.offer_h1 = listener.protocol != http::Protocol::h2;
  options.offer_h2 = listener.protocol != http::Protocol::h1;
  auto made = http::TlsSettings::for_server(options, std::move(keys));
  if (!made) return unexpected("listener " + listener.name + ": " + made.error());
  return std::optional(*std::move(made));
}

MadeTls make_client_tls(const ClusterConfig& cluster) {
  if (!uses_tls(cluster)) return std::optional<http::TlsSettings>();
  http::TlsClientOptions options = cluster.tls;
  if (cluster.protocol == http::Protocol::h1) options.offer_h2 = false;
  auto made = http::TlsSettings::for_client(options);
  if (!made) return unexpected("cluster " + cluster.name + ": " + made.error());
  return std::optional(*std::move(made));
}

std::string locate_tls_error(const ProxyConfig& config, const ListenerConfig& listener,
                             const std::string& sentence) {
  if (config.places == nullptr) return sentence;
  const auto at = static_cast<std::size_t>(&listener - config.listeners.data());
  // A file of `certificates` has the same word as the default certificate's.
  const http::TlsIdentity& own = listener.tls->identity;
  const bool is_own = listener.tls->certificates.empty() || names(sentence, own.certificate_file) ||
                      names(sentence, own.key_file) ||
                      names(sentence, listener.tls->client_ca_file);
  return located(config.file, listener_schema(), config.places->listeners[at], sentence,
                 is_own ? std::string_view() : "tls.certificates");
}

std::string locate_tls_error(const ProxyConfig& config, const ClusterConfig& cluster,
                             const std::string& sentence) {
  if (config.places == nullptr) return sentence;
  const auto at = static_cast<std::size_t>(&cluster - config.clusters.data());
  return located(config.file, cluster_schema(), config.places->clusters[at], sentence, {});
}

std::optional<std::string> find_tracing_ca_error(const ProxyConfig& config) {
  if (!config.tracing) return std::nullopt;
  const auto why = http::find_ca_error(*config.tracing);
  if (!why) return std::nullopt;
  const std::string sentence = "tracing: " + *why;
  if (config.places == nullptr) return sentence;
  return located(config.file, proxy_schema(), config.places->proxy, sentence,
                 config.tracing->ca_file.empty() ? "tracing.collector" : "tracing.ca_file");
}

std::optional<std::string> find_tls_error(const ProxyConfig& config) {
  for (const ListenerConfig& listener : config.listeners) {
    if (const auto made = make_server_tls(listener, nullptr); !made) {
      return locate_tls_error(config, listener, made.error());
    }
  }
  for (const ClusterConfig& cluster : config.clusters) {
    if (const auto made = make_client_tls(cluster); !made) {
      return locate_tls_error(config, cluster, made.error());
    }
  }
  return find_tracing_ca_error(config);
}

}  // namespace damper::proxy
