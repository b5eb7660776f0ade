#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/verdict.h"
#include "damper/http/codec/head.h"
#include "damper/proxy/config/route_action.h"

namespace damper::proxy {

// The values of the variables in FieldEdits, for one request.
struct FieldContext {
  std::string_view client_address{};
  std::string_view request_id{};
  std::string_view host{};  // the client's
  std::string_view route{};
};

// A FieldEditor applies FieldEdits to the fields of one message.
//
// Invariants:
//   (1) Fields that no edit names keep their order and values.
//   (2) A value of a variable comes from the codec or from the configuration, and a field with one
//       is validated again by the codec that writes it: no line is forged.
// Thread safety: none; one for a loop. Views are valid until the next edit().
// Cost: no allocation once it has edited fields as long; nothing without edits.
class FieldEditor {
 public:
  void edit(const FieldEdits& edits, const FieldContext& context, std::vector<http::Field>& fields);

 private:
  [[nodiscard]] http::Field make(const FieldEdits::Field& field, const FieldContext& context);

  std::vector<std::string> values_;  // with variables replaced
  std::size_t used_ = 0;
};

// The value with its variables replaced.
void expand_variables(std::string_view value, const FieldContext& context, std::string& into);

// ResponseFields makes the fields of one response to the client.
//
// Model: those of the replica without damper-*; then the route's edits; then damper-verdict, unless
// the response would be the same without the proxy, damper-attempts if there was more than one, and
// the cookie of a hash_policy.
// Thread safety: none; one for a loop. The fields are valid until the next make() or edit().
// Cost: no allocation once it has made fields as many. Without edits, verdict and attempts the
// replica's fields are not copied.
class ResponseFields {
 public:
  struct Own {
    Verdict verdict = Verdict::none;
    std::uint32_t attempts = 0;
    std::string_view set_cookie{};  // empty: none is set
  };
  [[nodiscard]] std::span<const http::Field> make(std::span<const http::Field> fields,
                                                  const FieldEdits& edits,
                                                  const FieldContext& context, const Own& own);
  // The fields of a response of the proxy itself.
  [[nodiscard]] std::span<const http::Field> edit(std::span<const http::Field> fields,
                                                  const FieldEdits& edits,
                                                  const FieldContext& context);
  // For without_own_fields().
  [[nodiscard]] std::vector<http::Field>& scratch() noexcept { return fields_; }

 private:
  std::vector<http::Field> fields_;
  std::string number_;
  FieldEditor editor_;
};

}  // namespace damper::proxy
