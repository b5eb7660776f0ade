#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/webhooks/api/redrive_job.h"
#include "damper/webhooks/dispatch/deliveries.h"
#include "damper/webhooks/model/endpoint.h"
#include "damper/webhooks/store/store.h"

// The answers of the API as JSON: schema.h has their fields.
namespace damper::webhooks {

struct ApplicationView {
  std::string name;
  std::size_t endpoints = 0;
};

[[nodiscard]] std::string error_json(std::string_view sentence, std::string_view code);
[[nodiscard]] std::string application_json(const ApplicationView& application);
// `next` of a list: nothing: this is the last page.
[[nodiscard]] std::string applications_json(std::span<const ApplicationView> applications,
                                            const std::optional<std::string>& next);
// `secret`: with its newest one.
[[nodiscard]] std::string endpoint_json(const Endpoint& endpoint, const EndpointStatus& status,
                                        bool secret);
struct EndpointView {
  const Endpoint* endpoint;
  EndpointStatus status;
};
[[nodiscard]] std::string endpoints_json(std::span<const EndpointView> endpoints,
                                         const std::optional<std::string>& next);
// REQUIRES: config is valid.
[[nodiscard]] std::string secret_json(const EndpointConfig& config);
[[nodiscard]] std::string accepted_json(const Accepted& accepted, std::size_t endpoints);
[[nodiscard]] std::string messages_json(std::span<const Message> messages, std::size_t limit);
[[nodiscard]] std::string message_json(const MessageStatus& status,
                                       std::span<const Attempt> attempts);
[[nodiscard]] std::string attempts_json(std::span<const Attempt> attempts, std::size_t limit);
[[nodiscard]] std::string dead_json(std::span<const DeadLetter> letters, std::size_t limit);
[[nodiscard]] std::string redrive_json(const RedriveJob& job);
[[nodiscard]] std::string redrives_json(std::span<const RedriveJob> jobs);
[[nodiscard]] std::string redriven_json(const Redriven& redriven);
// The switches of a scope, and what is held below it.
[[nodiscard]] std::string switches_json(const Deliveries& deliveries, const HoldScope& scope);
[[nodiscard]] std::string stats_json(const StoreCounts& counts, const Deliveries& deliveries,
                                     std::size_t applications, std::size_t endpoints);

}  // namespace damper::webhooks
