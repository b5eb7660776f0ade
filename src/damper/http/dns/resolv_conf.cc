#include "damper/http/dns/resolv_conf.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/http/codec/chars.h"
#include "damper/http/dns/dns_message.h"
#include "damper/http/dns/line_words.h"

namespace damper::http {
namespace {

// The number of "ndots:5", held at `most`.
void read_option(std::string_view word, std::string_view name, unsigned least, unsigned most,
                 unsigned& value) {
  if (!word.starts_with(name)) return;
  if (const auto number = text::find_number<unsigned>(word.substr(name.size()))) {
    value = std::clamp(*number, least, most);
  }
}

std::optional<std::string> find_search_name(std::string_view word) {
  if (word.ends_with('.')) word.remove_suffix(1);
  if (!is_dns_name(word)) return std::nullopt;
  return lowered(word);
}

}  // namespace

ResolvConf ResolvConf::parse(std::string_view text) {
  ResolvConf conf;
  std::vector<DnsServer> servers;
  unsigned seconds = 5;
  for_each_line(text.substr(0, kMostBytes), [&](const std::vector<std::string_view>& words) {
    if (words.size() < 2 || words[0].starts_with('#') || words[0].starts_with(';')) return;
    if (words[0] == "nameserver" && servers.size() < kMostServers) {
      if (const auto address = IpAddress::find(words[1])) {
        servers.push_back({.address = *address});
      }
    } else if (words[0] == "search" || words[0] == "domain") {
      conf.search.clear();
      for (std::size_t i = 1; i < words.size() && conf.search.size() < kMostSearch; ++i) {
        if (auto name = find_search_name(words[i])) conf.search.push_back(*std::move(name));
      }
    } else if (words[0] == "options") {
      for (const std::string_view word : words) {
        read_option(word, "ndots:", 0, kMostDots, conf.ndots);
        read_option(word, "attempts:", 1, kMostAttempts, conf.attempts);
        read_option(word, "timeout:", 1, kMostTimeoutSeconds, seconds);
      }
    }
  });
  conf.timeout = std::chrono::seconds(seconds);
  if (!servers.empty()) conf.servers = std::move(servers);
  return conf;
}

std::vector<std::string> ResolvConf::candidates(const std::string& name) const {
  std::vector<std::string> names;
  for (const std::string& suffix : search) {
    std::string joined = name;
    joined.append(1, '.').append(suffix);
    if (is_dns_name(joined)) names.push_back(std::move(joined));
  }
  const auto dots = static_cast<std::size_t>(std::count(name.begin(), name.end(), '.'));
  names.insert(dots >= ndots ? names.begin() : names.end(), name);
  return names;
}

}  // namespace damper::http
