#include "damper/http/dns/dns_files.h"

#include <sys/stat.h>

#include <cstddef>
#include <fstream>

namespace damper::http {
namespace {

std::int64_t nanoseconds_of(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// The first bytes of the file; empty if it cannot be read.
std::string read_up_to(const std::string& name, std::size_t most) {
  std::ifstream file(name, std::ios::binary);
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

DnsFiles::Stamp DnsFiles::stamp_of(const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return {};
  return {.inode = found.st_ino,
          .size = found.st_size,
          .modified = nanoseconds_of(found.st_mtim),
          .changed = nanoseconds_of(found.st_ctim)};
}

void DnsFiles::refresh() {
  // The stamp is taken before the file is read: a change in between is seen the next time.
  if (const Stamp stamp = stamp_of(conf_file_); stamp != conf_stamp_) {
    conf_stamp_ = stamp;
    conf_ = ResolvConf::parse(read_up_to(conf_file_, ResolvConf::kMostBytes));
  }
  if (const Stamp stamp = stamp_of(hosts_file_); stamp != hosts_stamp_) {
    hosts_stamp_ = stamp;
    hosts_ = HostsFile::parse(read_up_to(hosts_file_, HostsFile::kMostBytes));
  }
}

}  // namespace damper::http
