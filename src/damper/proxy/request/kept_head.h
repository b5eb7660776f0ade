#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/http/codec/head.h"

namespace damper::proxy {

// A KeptHead is a copy of a head, or of trailers, that outlives the call it was passed in.
//
// Why: a proxy keeps the head of each request, since a retry writes it again. One reused string
// costs a copy; a string for each field would cost an allocation each.
// Model: all text of the head in one string, and the same views over it.
// Invariants:
//   (1) head() is valid until the next keep() or clear().
//   (2) clear() frees memory of more than kKeptBytes.
// Thread safety: none. Cost: no allocation once it has held a head as large.
class KeptHead {
 public:
  static constexpr std::size_t kKeptBytes = std::size_t{8} * 1024;

  KeptHead() = default;
  KeptHead(const KeptHead&) = delete;
  KeptHead& operator=(const KeptHead&) = delete;

  void keep(const http::Head& head);
  void keep(std::span<const http::Field> trailers);
  void clear() noexcept;
  [[nodiscard]] const http::Head& head() const noexcept { return head_; }

 private:
  std::string text_;
  std::vector<http::Field> fields_;
  http::Head head_;
};

}  // namespace damper::proxy
