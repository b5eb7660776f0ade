#pragma once

#include <string_view>

#include "damper/config/schema.h"
#include "damper/policy/file/schema.h"

namespace damper::proxy {

// Form and documentation of a key of the policy's block, under another path or in another struct.
template <auto Field, class T>
void like(config::Schema<T>& s, std::string_view path, std::string_view policy_path,
          std::string_view doc = {}) {
  const config::Key& key = policy::block_schema().key_at(policy_path);
  s.template key<Field>(path, key.form, doc.empty() ? key.doc : doc);
}

}  // namespace damper::proxy
