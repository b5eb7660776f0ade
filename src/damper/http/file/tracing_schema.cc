#include "damper/http/file/tracing_schema.h"

#include <utility>

#include "damper/http/client/url.h"

namespace damper::http {

Expected<std::string> read_collector(std::string_view text) {
  const auto url = parse_url(text);
  if (!url) return unexpected(url.error());
  return url->endpoint.text() + (url->target == "/" ? "" : url->target);
}

Expected<std::string> read_service_name(std::string_view text) {
  TraceExporterOptions options;
  options.service_name = text;
  if (find_error(options)) return unexpected(std::string());
  return std::move(options.service_name);
}

}  // namespace damper::http
