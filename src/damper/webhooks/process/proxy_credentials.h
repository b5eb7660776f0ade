#pragma once

#include <string>

#include "damper/base/expected.h"

namespace damper::webhooks {

// Reads egress.proxy_credentials_file: one line, user:password. The error is a sentence without
// anything of the content.
[[nodiscard]] Expected<std::string> read_proxy_credentials(const std::string& file);

}  // namespace damper::webhooks
