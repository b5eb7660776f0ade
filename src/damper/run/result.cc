#include "damper/run/result.h"

namespace damper {

Unexpected<Failure> failed_by_exception() noexcept {
  Unexpected<Failure> failure = failed(decide::Outcome::permanent);
  try {
    throw;
  } catch (const std::system_error& error) {
    failure = failed(error.code());
  } catch (...) {  // Nothing is known but that it failed: repeating it could do anything.
  }
  failure.error.exception = std::current_exception();
  return failure;
}

}  // namespace damper
