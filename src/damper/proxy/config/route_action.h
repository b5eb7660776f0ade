#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/bounds.h"
#include "damper/base/enum_names.h"
#include "damper/base/expected.h"
#include "damper/base/percent.h"

namespace damper::config {
template <class T>
class Schema;
}  // namespace damper::config

namespace damper::proxy {

struct RouteConfig;

// FieldEdits are the fields of a message that a route removes, sets and adds, in this order.
//
// Model: `remove` removes every field of a name; `set` replaces all fields of its name by one;
// `add` appends one to those that are there. A value is literal, except for variables such as
// %CLIENT_ADDRESS% (kFieldVariables); %% is a percent sign.
// Invariants, of edits that were read from a file:
//   (1) No name is one of a field that frames the message, or that the proxy writes itself.
//   (2) Names are in lower case; values have no control character.
struct FieldEdits {
  struct Field {
    std::string name;
    std::string value;
    friend bool operator==(const Field&, const Field&) = default;
  };
  std::vector<Field> add{};
  std::vector<Field> set{};
  std::vector<std::string> remove{};

  [[nodiscard]] bool empty() const noexcept { return add.empty() && set.empty() && remove.empty(); }
};

enum class FieldVariable : std::uint8_t { client_address, request_id, host, route };
inline constexpr EnumNames<FieldVariable::route> kFieldVariables = {"CLIENT_ADDRESS", "REQUEST_ID",
                                                                    "HOST", "ROUTE"};

// The response of a route that forwards nothing.
struct DirectResponse {
  std::int32_t status = 200;
  std::string body{};
  std::string content_type = "text/plain";
};

// Where a route redirects to. An empty part is that of the request.
struct Redirect {
  std::string scheme{};  // "http", "https"
  std::string host{};    // with a port, if it is not the scheme's own
  std::string path{};    // replaces the whole path
  std::string prefix{};  // replaces match.prefix
  std::int32_t status = 301;
  bool strip_query = false;
};

// A page for load balancers and orchestrators: whether the proxy serves.
//
// Model: 200 and "ok"; 503 while the proxy drains, and if less than `min_healthy` of the replicas
// of one of `clusters` can be used.
struct HealthPage {
  static constexpr Range<Percent> kMinHealthy{Percent::from_hundredths(1), Percent(100)};

  std::vector<std::string> clusters{};  // none: the proxy alone
  Percent min_healthy = Percent(1);
};

// Why the action of a route is refused, and the key that is wrong; nothing: it is fine.
struct ActionError {
  std::string_view key;
  std::string sentence;
};
[[nodiscard]] std::optional<ActionError> find_action_error(const RouteConfig& route);

// ---- Parsers, each with the canonical text or why it is refused
inline constexpr std::string_view kEditedNameForms = "the name of a header field, such as x-team";
[[nodiscard]] Expected<std::string> read_edited_name(std::string_view text);
inline constexpr std::string_view kEditedValueForms =
    "a field's value: printable characters, no space at its ends, %CLIENT_ADDRESS%, %REQUEST_ID%, "
    "%HOST% or %ROUTE% for a variable, and %% for a percent sign";
[[nodiscard]] Expected<std::string> read_edited_value(std::string_view text);

// Adds the keys of FieldEdits, DirectResponse, Redirect and HealthPage to those of a route.
void add_action_keys(config::Schema<RouteConfig>& schema);

}  // namespace damper::proxy
