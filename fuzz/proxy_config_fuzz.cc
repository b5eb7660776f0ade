// Input: a proxy file, loaded alone and with flags; its last lines are also a request for the route
// matcher. No crash and no exception; an error is one line, a valid file is printed as one that
// loads as equal, and a found route matches its request.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/check.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/config/route_matcher.h"

namespace {

using damper::proxy::Flags;
using damper::proxy::ProxyConfig;

void check_config(const ProxyConfig& config) {
  DAMPER_CHECK(!config.listeners.empty() && !config.clusters.empty() && !config.routes.empty());
  for (const auto& note : config.notes) {
    DAMPER_CHECK(note.sentence.find('\n') == std::string::npos);
  }
  const std::string printed = print_proxy(config);
  if (printed.size() > (std::size_t{1} << 20)) return;  // Too long to load again.
  const auto again = damper::proxy::load_proxy(printed, "printed.yaml");
  DAMPER_CHECK(again);
  DAMPER_CHECK(print_proxy(*again) == printed);
}

void load(std::string_view text, const Flags& flags, const damper::http::Head& request) {
  const auto config = damper::proxy::load_proxy(text, "fuzz.yaml", flags);
  if (!config) {
    const std::string error = to_string(config.error());
    DAMPER_CHECK(error.find('\n') == std::string::npos);
    DAMPER_CHECK(error.size() < 3000);
    return;
  }
  check_config(*config);
  const auto route = damper::proxy::RouteMatcher(config->routes).find(request);
  for (std::size_t i = 0; i < config->routes.size(); ++i) {
    const bool fits = matches(config->routes[i].match, request);
    DAMPER_CHECK(route == i ? fits : !fits || (route && *route < i));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // A request made of the last lines of the text.
  const std::string_view last = text.substr(text.rfind('\n') + 1);
  const damper::http::Field field{.name = last, .value = last};
  const damper::http::Head request{
      .method = "GET", .authority = last, .target = last, .fields = {&field, 1}};
  load(text, {}, request);
  load(text, {.listen = {":0"}, .to = {"http://127.0.0.1:1"}}, request);
  load("", {.listen = {std::string(last)}, .to = {std::string(last)}}, request);
  return 0;
}
