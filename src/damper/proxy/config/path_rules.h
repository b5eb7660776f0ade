#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/enum_names.h"

namespace damper::proxy {

enum class EscapedSlashes : std::uint8_t { keep, refuse };
inline constexpr EnumNames<EscapedSlashes::refuse> kEscapedSlashesNames = {"keep", "refuse"};

// PathRules are what a listener does with the path of a request before its route is looked up:
// `normalize_path` and `escaped_slashes` of the file.
//
// Why: a path can be written in many ways that a service takes for one. A route that compares the
// path as it was written is passed by: //login, /./login, /%6cogin and /x/../login do not match
// /login, and so have neither its rate limit nor its admission. Why at the listener: the route is
// not known before. The normal path is forwarded, too, so that proxy and service agree on it.
// Model: `normalize` (RFC 3986, 6.2.2) decodes escapes of unreserved characters, writes the other
// escapes in capitals, merges slashes, and then removes dot segments; `..` above the root is the
// root. An escape without two hexadecimal digits is refused: decoding around it could make a new
// one. Unchanged are the query, case, parameters (`/a;b`), a slash at the end, and targets that are
// no path: * and the authority of a CONNECT.
// `escaped_slashes: refuse` refuses %2F, %5C and a backslash, which are separators to some services
// and not to others; it is independent of `normalize`.
// Invariants:
//   (1) A normal path is unchanged: applying the rules twice is applying them once.
//   (2) A normal path begins with one '/', and has neither an empty segment (except the last), nor
//       `.` or `..` as a segment, nor an escape of an unreserved character.
//   (3) The result is never longer than the target.
// Thread safety: immutable. Cost: nothing without rules; else one pass over a path that is normal.
struct PathRules {
  bool normalize = false;
  EscapedSlashes escaped_slashes = EscapedSlashes::keep;

  // Applies the rules to `target`; `into` has the result if it differs. False: the request is
  // refused (400), and `target` is unchanged. `into` allocates only if it has not the room.
  [[nodiscard]] bool try_apply(std::string_view& target, std::string& into) const {
    const bool any = normalize || escaped_slashes == EscapedSlashes::refuse;
    return !any || !target.starts_with('/') || apply(target, into);
  }

  friend bool operator==(const PathRules&, const PathRules&) = default;

 private:
  [[nodiscard]] bool apply(std::string_view& target, std::string& into) const;
};

// Whether a segment of the path is `..` to some service: escaped, before a parameter (`..;x`), or
// between backslashes or escaped slashes. A prefix_rewrite would let it climb out of the rewritten
// prefix.
[[nodiscard]] bool has_parent_segment(std::string_view path) noexcept;

}  // namespace damper::proxy
