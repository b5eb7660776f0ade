#include "damper/decide/classify_transport.h"

#include <gtest/gtest.h>

#include <map>

namespace damper::decide {
namespace {

TEST(ClassifyTransport, OnlyWhatSurelyNeverLeftIsUnavailable) {
  const std::map<TransportEvent, Outcome> table = {
      {TransportEvent::name_not_resolved, Outcome::unavailable},
      {TransportEvent::address_refused, Outcome::permanent},
      {TransportEvent::connect_refused, Outcome::unavailable},
      {TransportEvent::connect_timeout, Outcome::unavailable},
      {TransportEvent::handshake_failed, Outcome::unavailable},
      {TransportEvent::refused_stream, Outcome::unavailable},
      {TransportEvent::goaway_unprocessed, Outcome::unavailable},
      {TransportEvent::reset_before_response, Outcome::transient},
      {TransportEvent::reset_in_response, Outcome::transient},
      {TransportEvent::malformed_response, Outcome::transient},
      {TransportEvent::response_timeout, Outcome::timeout},
      {TransportEvent::pool_exhausted, Outcome::overload},
      {TransportEvent::queue_full, Outcome::overload},
      {TransportEvent::deadline_passed, Outcome::overload},
      {TransportEvent::cancelled, Outcome::cancelled}};
  for (const auto& [event, outcome] : table) {
    EXPECT_EQ(classify(event), outcome) << static_cast<int>(event);
  }
}

}  // namespace
}  // namespace damper::decide
