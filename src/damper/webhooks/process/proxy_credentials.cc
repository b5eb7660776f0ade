#include "damper/webhooks/process/proxy_credentials.h"

#include <fstream>

#include "damper/base/text/words.h"
#include "damper/http/net/egress_proxy.h"
#include "damper/webhooks/key_material.h"

namespace damper::webhooks {

Expected<std::string> read_proxy_credentials(const std::string& file) {
  const std::string name = "the credentials file " + text::in_quotes(file);
  std::ifstream in(file, std::ios::binary);
  if (!in) return unexpected(name + " cannot be read");
  std::string text(http::EgressProxy::kMostCredentials + 2, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return unexpected(name + " cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  const http::EgressProxy proxy{.host = "-", .credentials = text};
  if (text.empty() || find_error(proxy)) {
    cleanse(text);
    return unexpected(name + " has not one line with user:password, of at most " +
                      std::to_string(http::EgressProxy::kMostCredentials) + " bytes");
  }
  return text;
}

}  // namespace damper::webhooks
