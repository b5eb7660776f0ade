#include "damper/proxy/data/switch_scope.h"

#include "damper/base/text/words.h"

namespace damper::proxy {

std::string SwitchScope::text() const {
  std::string out(kScopeKindNames[kind]);
  if (kind != Kind::process) out.append("/").append(name);
  return out;
}

Expected<SwitchScope> parse_scope(std::string_view text) {
  if (text.empty()) return SwitchScope{};
  if (text.size() > kLongestScope) {
    return unexpected("scope has " + std::to_string(text.size()) + " bytes; it must have at most " +
                      std::to_string(kLongestScope));
  }
  const std::size_t slash = text.find('/');
  const auto kind = kScopeKindNames.find(text.substr(0, slash));
  const std::string_view name =
      slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
  const bool process = kind == SwitchScope::Kind::process;
  if (!kind || (process ? slash != std::string_view::npos : name.empty())) {
    return unexpected("scope is " + text::in_quotes(text) +
                      "; it must be process, cluster/NAME or route/NAME");
  }
  return SwitchScope{*kind, std::string(name)};
}

}  // namespace damper::proxy
