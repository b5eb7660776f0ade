// Input: a response of etcd's gateway. The parsed entries are bounded; an error is a sentence.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "damper/base/check.h"
#include "damper/base/text/base64.h"
#include "damper/base/text/json_reader.h"
#include "damper/proxy/control/etcd_answer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& answer :
       {damper::proxy::parse_etcd_range(text), damper::proxy::parse_etcd_watch(text)}) {
    if (!answer) {
      DAMPER_CHECK(!answer.error().empty());
      continue;
    }
    DAMPER_CHECK(answer->revision >= 0);
    for (const auto& entry : answer->entries) {
      DAMPER_CHECK(!entry.key.empty() && entry.revision >= 0);
      DAMPER_CHECK(entry.key.size() + entry.value.size() <= size);
    }
  }
  if (const auto bytes = damper::text::find_base64(text)) {
    DAMPER_CHECK(damper::text::to_base64(*bytes) == text);  // The encoding is unique.
  }
  (void)damper::text::read_json(text);
  return 0;
}
