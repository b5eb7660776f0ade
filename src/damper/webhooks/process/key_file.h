#pragma once

#include <string>

#include "damper/base/expected.h"
#include "damper/webhooks/process/serve_options.h"
#include "damper/webhooks/seal/sealer.h"

namespace damper::webhooks {

// The keys of the endpoints' secrets: from secret_key_file, or from STORE.key beside a SQLite file.
// The latter is created, readable by its owner alone, if the store is new. If the store exists and
// its key does not, that is an error: a new key could not read it. The error is a sentence.
[[nodiscard]] Expected<Sealer> open_sealer(const ServeOptions& options);

}  // namespace damper::webhooks
