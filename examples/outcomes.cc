// The ways in which an operation reports its outcome, and what the caller reads.

#include <iostream>
#include <string>
#include <system_error>

#include "damper/damper.h"

using namespace std::chrono_literals;

namespace {

// [outcomes]
damper::Result<std::string> with_a_value(const damper::Attempt&) { return std::string("hello"); }

damper::Result<std::string> with_a_status(const damper::Attempt&) {
  return damper::failed_http(429, 2s);  // Retry-After: 2 s
}

damper::Result<std::string> with_an_error_code(const damper::Attempt&) {
  return damper::failed(std::make_error_code(std::errc::connection_refused));
}

damper::Outcome without_a_value(const damper::Attempt&) { return damper::Outcome::conflict; }

damper::Result<damper::Done> with_an_exception(const damper::Attempt&) {
  throw std::runtime_error("no such invoice");  // permanent; a std::system_error: by its code
}
// [/outcomes]

template <class Operation>
void show(const char* what, Operation operation) {
  damper::Dependency dependency("greeter");
  // [result]
  auto result =
      damper::call(dependency, {.idempotent = true, .deadline = damper::in(1s)}, operation);
  std::cout << what << ": " << damper::name(result.verdict());
  if (const damper::Failure* last = result.failure()) {
    std::cout << ", the last attempt was " << damper::decide::name(last->report.outcome);
  }
  // [/result]
  std::cout << '\n';
}

}  // namespace

int main() {
  show("a value", with_a_value);
  show("a status", with_a_status);
  show("an outcome", without_a_value);
  show("an exception", with_an_exception);

  damper::Policy policy;
  policy.call.max_attempts = 1;
  damper::Dependency once("greeter", policy);
  auto result = damper::call(once, {}, with_an_error_code);
  std::cout << "an error code: " << damper::name(result.verdict()) << '\n';

  auto thrown = damper::call(once, {}, with_an_exception);
  try {
    (void)thrown.value();
  } catch (const std::runtime_error& error) {
    std::cout << "value() throws again: " << error.what() << '\n';
  }
  return 0;
}
