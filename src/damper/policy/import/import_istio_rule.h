#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/policy/import/import_draft.h"

namespace damper::policy {

// A trafficPolicy, in the parts that Istio replaces as a whole.
struct IstioTraffic {
  std::optional<Draft> budget;   // retryBudget, which stands for maxRetries
  std::optional<Draft> retries;  // of the connectionPool, as are the requests
  std::optional<Draft> requests;
  std::optional<Draft> outliers;
};

// An IstioRule is a DestinationRule: traffic for a host, and where its subsets differ.
struct IstioRule {
  std::string host;  // with its namespace, as full_host() makes it
  config::SourceLocation place;
  IstioTraffic traffic;
  std::map<std::string, IstioTraffic, std::less<>> subsets;
  bool used = false;

  // What holds for a subset: its own parts, and the host's where it has none.
  [[nodiscard]] Draft traffic_of(std::string_view subset, ImportNotes& notes) const;
  // Whether it is about this host; "*.x" is about all that end in ".x".
  [[nodiscard]] bool is_about(std::string_view full_host) const;
};

// Reads the spec of a DestinationRule.
[[nodiscard]] IstioRule read_istio_rule(const config::Tree& spec, std::string_view space,
                                        ImportNotes& notes);

// A short name, such as reviews, is that service in the namespace of the resource that uses it.
[[nodiscard]] std::string full_host(std::string_view host, std::string_view space);

}  // namespace damper::policy
