#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "damper/http/net/ip_address.h"

namespace damper::http {

// A HostsFile is the names of an /etc/hosts, with their addresses in the order of the file.
//
// Model: a line is an address and names; '#' begins a comment. A line that is not understood is
// ignored, and so is what exceeds a bound.
class HostsFile {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1024} * 1024;
  static constexpr std::size_t kMostNames = 10'000;
  static constexpr std::size_t kMostAddresses = 64;  // of a name

  HostsFile() = default;
  [[nodiscard]] static HostsFile parse(std::string_view text);

  // Empty: the file does not have the name. In lower case.
  [[nodiscard]] std::vector<IpAddress> find(const std::string& name) const;

 private:
  std::map<std::string, std::vector<IpAddress>> names_;
};

}  // namespace damper::http
