// Input: a URL. A valid one is printed and parsed to an equal one, and has no byte that ends a line
// or a header field.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/check.h"
#include "damper/http/client/url.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace damper::http;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto url = parse_url(text);
  if (!url) {
    DAMPER_CHECK(!url.error().empty());
    return 0;
  }
  const std::string again = url->endpoint.text() + url->target;
  for (const char c : again) DAMPER_CHECK(c > ' ' && c < 0x7f);
  DAMPER_CHECK(again.find('@') >= url->endpoint.text().size());
  const auto reread = parse_url(again.size() > kMostUrlBytes ? text : again);
  DAMPER_CHECK(reread && reread->endpoint == url->endpoint && reread->target == url->target);
  DAMPER_CHECK(url->endpoint.port != 0 && !url->endpoint.host.empty());
  return 0;
}
