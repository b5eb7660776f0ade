#include "damper/http/codec/close_reason.h"

#include <gtest/gtest.h>

namespace damper::http {
namespace {

TEST(CloseReason, EveryReasonHasAnEventAndRefusedMeansNeverProcessed) {
  using decide::TransportEvent;
  EXPECT_EQ(transport_event(CloseReason::refused, false), TransportEvent::refused_stream);
  EXPECT_EQ(transport_event(CloseReason::reset, false), TransportEvent::reset_before_response);
  EXPECT_EQ(transport_event(CloseReason::reset, true), TransportEvent::reset_in_response);
  EXPECT_EQ(transport_event(CloseReason::malformed, true), TransportEvent::malformed_response);
  EXPECT_EQ(name(CloseReason::cancelled), "cancelled");
  EXPECT_EQ(name(CloseReason::finished), "finished");
}

}  // namespace
}  // namespace damper::http
