#include "damper/webhooks/process/endpoint_notices.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "damper/base/text/json_writer.h"
#include "damper/webhooks/api/time_text.h"

namespace damper::webhooks {
namespace {

using NoticeKind = DeliveryEvent::Kind;

[[nodiscard]] bool subscribes(const EndpointConfig& config) {
  return std::ranges::any_of(config.types,
                             [](const std::string& type) { return type.starts_with("damper."); });
}

[[nodiscard]] bool subscribes(const EndpointConfig& config, std::string_view type) {
  return !config.disabled && std::ranges::any_of(config.types, [type](const std::string& pattern) {
    if (!pattern.starts_with("damper.")) return false;
    if (!pattern.ends_with(".*")) return pattern == type;
    return type.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
  });
}

[[nodiscard]] std::string notice_payload(const std::string& type, const Endpoint& endpoint,
                                         std::string_view reason, UnixTime now) {
  std::ostringstream out;
  text::JsonWriter json(out);
  json.open('{');
  json.field("type", type);
  json.field("timestamp", time_text(now));
  json.open('{', "data");
  json.field("endpoint", id_text(kEndpointPrefix, endpoint.id));
  json.field("description", endpoint.config.description);
  if (!reason.empty()) json.field("reason", reason);
  json.close('}');
  json.close('}');
  return std::move(out).str();
}

}  // namespace

std::optional<NewMessage> EndpointNotices::on_event(const DeliveryEvent& event, UnixTime now) {
  std::string type;
  if (!event.endpoint) return std::nullopt;
  switch (event.kind) {
    case NoticeKind::endpoint_failing:
      if (!failing_.insert(*event.endpoint).second) return std::nullopt;
      type = "damper.endpoint.failing";
      break;
    case NoticeKind::endpoint_recovered:
      failing_.erase(*event.endpoint);
      type = "damper.endpoint.recovered";
      break;
    case NoticeKind::endpoint_disabled:
      failing_.erase(*event.endpoint);
      type = "damper.endpoint.disabled";
      break;
    default: return std::nullopt;
  }
  const Endpoint* const about = directory_.find(*event.endpoint);
  if (about == nullptr || subscribes(about->config)) return std::nullopt;  // (1)
  NewMessage notice;
  for (const Endpoint* const endpoint : directory_.endpoints_of(about->application)) {
    if (subscribes(endpoint->config, type)) notice.endpoints.push_back(endpoint->id);
  }
  if (notice.endpoints.empty()) return std::nullopt;
  notice.message.application = about->application;
  notice.message.payload = notice_payload(type, *about, event.text, now);
  notice.message.type = std::move(type);
  notice.message.created = now;
  return notice;
}

}  // namespace damper::webhooks
