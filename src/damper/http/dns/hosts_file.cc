#include "damper/http/dns/hosts_file.h"

#include <algorithm>

#include "damper/http/codec/chars.h"
#include "damper/http/dns/line_words.h"

namespace damper::http {

HostsFile HostsFile::parse(std::string_view text) {
  HostsFile file;
  for_each_line(text.substr(0, kMostBytes), [&](const std::vector<std::string_view>& words) {
    const auto address = IpAddress::find(words[0]);
    if (!address) return;
    for (std::size_t i = 1; i < words.size() && !words[i].starts_with('#'); ++i) {
      const std::string name = lowered(words[i]);
      if (file.names_.size() >= kMostNames && !file.names_.contains(name)) continue;
      std::vector<IpAddress>& addresses = file.names_[name];
      const bool known = std::find(addresses.begin(), addresses.end(), *address) != addresses.end();
      if (!known && addresses.size() < kMostAddresses) addresses.push_back(*address);
    }
  });
  return file;
}

std::vector<IpAddress> HostsFile::find(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? std::vector<IpAddress>{} : found->second;
}

}  // namespace damper::http
