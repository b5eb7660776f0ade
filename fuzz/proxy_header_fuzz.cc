// The first bytes of a connection from a load balancer, as one read and as several.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "damper/http/peer/proxy_header.h"

using damper::http::ProxyHeader;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const ProxyHeader whole = ProxyHeader::read(bytes);
  if (whole.size > size || whole.size > ProxyHeader::kMaxBytes) std::abort();
  for (std::size_t i = 0; i < size && i <= ProxyHeader::kMaxBytes; ++i) {
    const ProxyHeader part = ProxyHeader::read(bytes.substr(0, i));
    if (part.status == ProxyHeader::Status::incomplete) {
      if (part.size != i) std::abort();
      continue;
    }
    // The same header, or the same fault, however the bytes arrive.
    if (part.status != whole.status || part.size != whole.size) std::abort();
    break;
  }
  return 0;
}
