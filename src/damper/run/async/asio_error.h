#pragma once

#include <boost/asio/error.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <system_error>

#include "damper/base/expected.h"
#include "damper/decide/outcome.h"
#include "damper/run/result.h"

namespace damper {

// How an operation says what Asio said: `return damper::failed(error);`. The system's errors are
// classified as everywhere; of Asio's own, an end of stream is a connection that was closed on us,
// and a name that was not found means that nothing was sent.
[[nodiscard]] inline Unexpected<Failure> failed(const boost::system::error_code& error) {
  namespace asio = boost::asio;
  Unexpected<Failure> failure = failed(std::error_code(error));
  if (error == asio::error::eof) {
    failure.error.report.outcome = decide::Outcome::transient;
  } else if (error == asio::error::host_not_found ||
             error == asio::error::host_not_found_try_again) {
    failure.error.report.outcome = decide::Outcome::unavailable;
  }
  return failure;
}

namespace run {

// failed_by_exception(), for what may come from Asio: its exceptions are Boost's.
[[nodiscard]] inline Unexpected<Failure> failed_by_asio_exception() noexcept {
  try {
    throw;
  } catch (const boost::system::system_error& error) {
    Unexpected<Failure> failure = failed(error.code());
    failure.error.exception = std::current_exception();
    return failure;
  } catch (...) {
    return failed_by_exception();
  }
}

}  // namespace run
}  // namespace damper
