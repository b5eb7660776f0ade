#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "damper/base/instant.h"
#include "damper/engine/event.h"
#include "damper/observe/process_event.h"
#include "damper/observe/registry.h"
#include "damper/proxy/data/proxy_generation.h"

namespace damper::proxy {

// A CertificateWatch reads the files of `tls` again when they have changed.
//
// Why not inotify: the files are few, a stat is cheap, and it also works where files come from a
// network or an overlay. Why apart from the reload of the configuration: certificates are renewed
// by other programs, which do not know the proxy.
// Model: look() compares the stamps of the files with those of the generation in force, once in
// kEvery. Files that differ, and are the same as at the look before (the writer has finished), are
// read, all files of a listener or a cluster together. If they are good, a copy of the generation
// with the new settings is returned; else the old settings stay, and look() tries again. Files that
// change while they are read are read again.
//   damper_tls_reloads_total{result}   applied, refused (once for each reason)
// Events: certificate_reloaded; certificate_refused, once for each reason; certificate_expires,
// once for each certificate that ends within kWarning.
// Invariants:
//   (1) A certificate is never used with the key of another, nor with half of its chain.
//   (2) A look that finds nothing new allocates little and reads no file.
// Thread safety: none.
class CertificateWatch {
 public:
  static constexpr Duration kEvery = std::chrono::seconds(1);
  static constexpr std::int64_t kWarning = std::int64_t{14} * 24 * 3600;  // seconds

  // `events`: or nullptr. What is referred to outlives it.
  CertificateWatch(observe::Registry& registry, engine::EventSink* events);

  // nullptr: nothing has changed. `wall`: Unix time.
  [[nodiscard]] std::shared_ptr<ProxyGeneration> look(const ProxyGeneration& in_force, Instant now,
                                                      std::int64_t wall);

 private:
  struct Seen {
    FileStamps stamps;    // at the last look, if they differ from those in force
    std::string refused;  // the last reason
  };

  // Whether they are to be read now: they differ, and are the same as at the last look.
  [[nodiscard]] bool has_settled(const std::string& owner, const FileStamps& in_force,
                                 const FileStamps& now);
  void report(observe::ProcessEvent kind, Instant now, const std::string& detail);
  void on_read(const std::string& owner, Instant now, const std::string* error);
  void warn(const std::string& owner, const http::TlsSettings& settings, Instant now,
            std::int64_t wall);

  engine::EventSink* const events_;
  observe::Counter& applied_;
  observe::Counter& refused_;
  std::map<std::string, Seen> seen_;                       // by owner: "listener web"
  std::set<std::pair<std::string, std::int64_t>> warned_;  // file and end
};

// damper_tls_certificate_expiry_seconds, of every certificate in use.
void write_expiry(const ProxyGeneration& generation, std::int64_t wall, observe::Exposition& out);

}  // namespace damper::proxy
