#pragma once

#include <string>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/config/schema.h"
#include "damper/lab/scenario/scenario.h"

namespace damper::lab {

// Every key of a scenario file: one schema for each struct of scenario.h.
template <class T>
[[nodiscard]] const config::Schema<T>& schema();

// The name of a scenario, a variant, a service or a group.
[[nodiscard]] Expected<std::string> parse_name(std::string_view text);
inline constexpr config::Form kName =
    config::form::parsed(parse_name, "1 to 100 letters, digits or . _ -");

// The tables in Markdown, with the measures for `expect`: a part of the guide.
[[nodiscard]] std::string reference();

}  // namespace damper::lab
