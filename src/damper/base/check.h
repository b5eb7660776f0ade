#pragma once

// DAMPER_CHECK(condition) stops the program when a bug has broken an invariant of ours, in release
// builds, too: to continue after a broken invariant does more harm. It is never for bad input,
// which gets an error sentence, nor for a refusal, which gets a Verdict.
#define DAMPER_CHECK(condition)                      \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::damper::check_failed(#condition, __FILE__, __LINE__))

namespace damper {

// Prints "damper: check failed: CONDITION at FILE:LINE" to standard error and aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace damper
