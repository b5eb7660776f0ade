#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/enum_names.h"
#include "damper/base/expected.h"
#include "damper/http/codec/head.h"

namespace damper::http {

// The reason of a refused request; the name is the label of a metric.
enum class AccessReason : std::uint8_t {
  host,          // Host names us by a name that is not ours: DNS rebinding.
  origin,        // A page of another site asks.
  token,         // The token is missing, or not the right one.
  content_type,  // Not JSON: an HTML form can send the others.
};
inline constexpr EnumNames<AccessReason::content_type> kAccessReasonNames = {
    "host", "origin", "token", "content_type"};

struct AccessRefusal {
  AccessReason reason{};
  int status = 403;
  std::string sentence{};
};

struct AccessOptions {
  bool loopback = true;              // The listener's address is loopback.
  std::string token_file{};          // empty: none
  std::vector<std::string> names{};  // by which clients may call us, beside localhost
};

// A LocalAccess decides which requests may read, and which may change state: of an admin or
// management API.
//
// Why: a port on loopback is open to every page in every browser on the machine: a page can send
// requests there (CSRF), and one whose name is made to resolve to 127.0.0.1 (DNS rebinding) can
// read the answers. A port that is not on loopback is open to every host that can reach it.
// Model:
//   Every request, on loopback: Host is an IP address, localhost or one of `names`.
//   A request that changes state: no Origin but our own host, and no Sec-Fetch-Site but same-origin
//   and none; a body is application/json; and a bearer token, if there is a token file or the
//   address is not loopback. Without a token file no such request is accepted there.
// Invariants:
//   (1) The time of a comparison does not depend on the token.
//   (2) A changed token file is used from the next request on; while it cannot be read, no request
//       that changes state is accepted.
// Thread safety: all methods may be called concurrently. Cost: a small file is read for each
// change.
class LocalAccess {
 public:
  explicit LocalAccess(AccessOptions options)
      : options_(std::move(options)), token_file_(options_.token_file) {}

  // Another one, from the next request on; empty: none.
  void set_token_file(std::string file);

  // `request` is any: its authority and fields are looked at.
  [[nodiscard]] std::optional<AccessRefusal> check_visit(const Head& request) const;
  // After check_visit().
  [[nodiscard]] std::optional<AccessRefusal> check_change(const Head& request) const;
  // check_change() without the token: for a server that has tokens of its own.
  [[nodiscard]] static std::optional<AccessRefusal> check_page(const Head& request);

 private:
  [[nodiscard]] std::optional<AccessRefusal> check_token(const Head& request) const;

  const AccessOptions options_;
  mutable std::mutex mutex_;
  std::string token_file_;
};

// The token in a file: 16 to 4096 visible characters, without the white space around them. Or one
// sentence, which never repeats what is in the file.
[[nodiscard]] Expected<std::string> read_token(const std::string& file);

// Whether the two are the same, in a time that depends on neither.
[[nodiscard]] bool same_secret(std::string_view a, std::string_view b) noexcept;

// Whether only this machine can reach a listener of this address: 127.0.0.0/8 or ::1.
[[nodiscard]] bool is_loopback(std::string_view address) noexcept;

// The token of "Authorization: Bearer TOKEN"; nullopt: there is none.
[[nodiscard]] std::optional<std::string_view> find_bearer(const Head& request) noexcept;

}  // namespace damper::http
