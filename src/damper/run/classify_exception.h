#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "damper/decide/outcome.h"

namespace damper {

namespace run {

// The report of an exception if it is of the classifier's type.
using ExceptionClassifier = std::function<std::optional<decide::Report>(std::exception_ptr)>;

// More classifiers than exception types of a program: they are added in a loop, by mistake.
inline constexpr std::size_t kMostClassifiers = 1000;

// Adds a classifier for the whole process. It is asked before those that were added earlier.
void add_classifier(ExceptionClassifier classifier);

// What the classifiers return for the exception; nothing if none is of its type, or if one throws.
// Cost: a lock, and one rethrow for each classifier.
[[nodiscard]] std::optional<decide::Report> find_report(const std::exception_ptr& error) noexcept;

}  // namespace run

// Classifies exceptions of a type of the caller's, and of types derived from it, for all guarded
// calls and controllers of the process:
//
//   damper::classify<db::Error>([](const db::Error& error) {
//     return error.is_busy() ? damper::Outcome::transient : damper::Outcome::permanent;
//   });
//
// The function returns an Outcome or a Report; of two for the same exception the later one is used.
// Without it, an exception that has no error code ends the call as `permanent` and gives no verdict
// to breaker, limit, throttle and latency: nothing is known about its cause.
// Thread safety: may be called at any time; calls that fail later use it, on their threads, several
// at once.
template <class Exception, std::invocable<const Exception&> Function>
  requires std::is_convertible_v<std::invoke_result_t<Function&, const Exception&>,
                                 decide::Outcome> ||
           std::is_convertible_v<std::invoke_result_t<Function&, const Exception&>, decide::Report>
void classify(Function function) {
  run::add_classifier([function = std::move(function)](const std::exception_ptr& thrown) mutable
                      -> std::optional<decide::Report> {
    try {
      std::rethrow_exception(thrown);
    } catch (const Exception& error) {
      if constexpr (std::is_convertible_v<std::invoke_result_t<Function&, const Exception&>,
                                          decide::Outcome>) {
        return decide::Report{.outcome = function(error)};
      } else {
        return function(error);
      }
    } catch (...) {
      return std::nullopt;
    }
  });
}

}  // namespace damper
