#pragma once

#include <boost/asio/error.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <system_error>

#include "damper/base/expected.h"
#include "damper/run/result.h"

namespace damper {

// How an operation reports an error of Asio: `return damper::failed(error);`. Asio's own codes are
// classified by decide::classify(), as the system's are.
[[nodiscard]] inline Unexpected<Failure> failed(const boost::system::error_code& error) {
  return failed(std::error_code(error));
}

namespace run {

// failed_by_exception(), for what may come from Asio: its exceptions are Boost's.
[[nodiscard]] inline Unexpected<Failure> failed_by_asio_exception() noexcept {
  return failed_by_coded_exception<boost::system::system_error>();
}

}  // namespace run
}  // namespace damper
