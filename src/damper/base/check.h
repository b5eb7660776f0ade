#pragma once

// DAMPER_CHECK(condition) stops the program when a bug has broken an invariant of ours, in release
// builds, too: to continue after a broken invariant does more harm. It is never for bad input,
// which gets an error sentence, nor for a refusal, which gets a Verdict.
#define DAMPER_CHECK(condition)                      \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::damper::check_failed(#condition, __FILE__, __LINE__))

// DAMPER_CHECK_VALID(find_error(options)) stops the program with find_error's sentence, if there is
// one: which option, its value and its bounds.
#define DAMPER_CHECK_VALID(error) ::damper::check_valid((error), __FILE__, __LINE__)

namespace damper {

// Prints "damper: check failed: CONDITION at FILE:LINE" to standard error and aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

// For an optional string.
template <class Error>
void check_valid(const Error& error, const char* file, int line) noexcept {
  if (error) [[unlikely]]
    check_failed(error->c_str(), file, line);
}

}  // namespace damper
