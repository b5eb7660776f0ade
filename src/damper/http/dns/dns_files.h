#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "damper/http/dns/hosts_file.h"
#include "damper/http/dns/resolv_conf.h"

namespace damper::http {

// DnsFiles is the system's configuration of names: its resolv.conf and its hosts.
//
// Model: refresh() reads a file whose identity, size or times have changed. A file that cannot be
// read is an empty one: 127.0.0.1 is queried then, as by the C library.
// Thread safety: none. Cost: refresh() is two stat() while nothing has changed.
class DnsFiles {
 public:
  explicit DnsFiles(std::string resolv_conf = "/etc/resolv.conf", std::string hosts = "/etc/hosts")
      : conf_file_(std::move(resolv_conf)), hosts_file_(std::move(hosts)) {}

  void refresh();
  [[nodiscard]] const ResolvConf& conf() const noexcept { return conf_; }
  [[nodiscard]] const HostsFile& hosts() const noexcept { return hosts_; }

 private:
  struct Stamp {
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t modified = 0;  // in nanoseconds
    std::int64_t changed = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  [[nodiscard]] static Stamp stamp_of(const std::string& file);

  std::string conf_file_;
  std::string hosts_file_;
  Stamp conf_stamp_;
  Stamp hosts_stamp_;
  ResolvConf conf_;
  HostsFile hosts_;
};

}  // namespace damper::http
