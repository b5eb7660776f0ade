// Prints docs/guide/webhooks-reference.md: the keys of the dispatcher's file, from the schema that
// loads it. `build/dev/bin/webhooks_reference > docs/guide/webhooks-reference.md` brings it up to
// date.

#include <iostream>

#include "damper/webhooks/process/serve_options.h"

int main() {
  std::cout
      << "# Every key of the dispatcher's file\n\n"
         "Generated from the schema that loads the file of `damper webhooks serve -c FILE`; a "
         "test\n"
         "compares the two. The guide is [webhooks.md](webhooks.md). `damper webhooks serve -c "
         "FILE\n"
         "--validate` checks a file.\n\n"
         "Durations are written `250ms`, `2s`, `1.5m`; the units are ns, us, ms, s, m and h. Bytes "
         "are\nwritten `4096`, `64KiB`, `1MiB`. A value out of its bounds is an error with its "
         "location;\nnothing is clamped.\n\n"
         "For completion and validation in an editor: `damper schema webhooks > "
         "webhooks.schema.json`.\n\n"
         "<!-- webhooks -->\n"
         "```yaml\n"
         "listen: 127.0.0.1:8071\n"
         "store: /var/lib/damper-webhooks/webhooks.db\n"
         "delivery:\n"
         "  timeout: 15s\n"
         "  retries: [5s, 5m, 30m, 2h, 5h, 10h]\n"
         "circuit_breaker: { open_cap: 2m }\n"
         "egress: { plain_http: false, ports: [443] }\n"
         "retention: { messages: 72h }\n"
         "```\n\n"
         "## the file\n\n"
      << damper::webhooks::serve_schema().reference("###");
  return 0;
}
