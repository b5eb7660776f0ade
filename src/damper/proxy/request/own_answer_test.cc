#include "damper/proxy/request/own_answer.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;

// Writes down what it is told.
class Paper final : public http::Stream {
 public:
  void send_head(const http::Head& head, bool end) override {
    text = std::to_string(head.status) + "\n";
    for (const auto& field : head.fields) {
      text.append(field.name).append("=").append(field.value).append("\n");
    }
    if (end) text += "end";
  }
  [[nodiscard]] std::size_t send_data(std::string_view bytes, bool end) override {
    text += bytes;
    body_bytes += bytes.size();
    if (end) text += "end";
    return bytes.size();
  }
  void send_trailers(std::span<const http::Field>) override {}
  void consumed(std::size_t) override {}
  void cancel() override {}
  [[nodiscard]] Instant began() const noexcept override { return {}; }
  [[nodiscard]] bool touched_wire() const noexcept override { return false; }

  std::string text;
  std::size_t body_bytes = 0;
};

std::string said(const OwnAnswer& answer, bool grpc = false) {
  Paper paper;
  EXPECT_EQ(send(paper, answer, grpc, 0), paper.body_bytes);
  return paper.text;
}

TEST(OwnAnswer, TheVerdictDecidesTheStatus) {
  EXPECT_EQ(own_answer(Verdict::deadline_passed, Outcome::success).status, 504);
  EXPECT_EQ(own_answer(Verdict::deadline_too_close, Outcome::transient).status, 504);
  EXPECT_EQ(own_answer(Verdict::breaker_open, Outcome::success).status, 503);
  EXPECT_EQ(own_answer(Verdict::budget_spent, Outcome::transient).status, 503);
  EXPECT_EQ(own_answer(Verdict::switched_off, Outcome::timeout).status, 503);
  EXPECT_EQ(own_answer(Verdict::shed, Outcome::success).status, 503);
  EXPECT_EQ(own_answer(Verdict::attempts_spent, Outcome::unavailable).status, 502);
  EXPECT_EQ(own_answer(Verdict::attempts_spent, Outcome::timeout).status, 504);
  EXPECT_EQ(own_answer(Verdict::not_idempotent, Outcome::transient).status, 502);
  EXPECT_EQ(own_answer(Verdict::overload, Outcome::overload).status, 503);
}

TEST(OwnAnswer, SaysWhyInALineAndWhenToComeBack) {
  EXPECT_EQ(said(own_answer(Verdict::breaker_open, Outcome::success)),
            "503\ndamper-verdict=breaker_open\ncontent-type=text/plain\n"
            "damper: the circuit breaker is open\nend");
  OwnAnswer spent = own_answer(Verdict::attempts_spent, Outcome::transient);
  spent.attempts = 3;
  EXPECT_EQ(said(spent),
            "502\ndamper-verdict=attempts_spent\ndamper-attempts=3\ncontent-type=text/plain\n"
            "damper: the last of the allowed attempts failed\nend");
  EXPECT_EQ(said(rate_limited(2500ms)),
            "429\ndamper-verdict=limited\nretry-after=3\ncontent-type=text/plain\n"
            "damper: the route's rate limit is reached\nend");
  EXPECT_EQ(said(no_route()), "404\ncontent-type=text/plain\ndamper: no route\nend");
}

TEST(OwnAnswer, AGrpcClientHearsItInTrailersOnly) {
  EXPECT_EQ(said(own_answer(Verdict::deadline_passed, Outcome::success), true),
            "200\ndamper-verdict=deadline_passed\ncontent-type=application/grpc\ngrpc-status=4\n"
            "grpc-message=the deadline has passed\nend");
  EXPECT_EQ(own_answer(Verdict::shed, Outcome::success).grpc_status, 8);
  EXPECT_EQ(own_answer(Verdict::attempts_spent, Outcome::transient).grpc_status, 14);
}

}  // namespace
}  // namespace damper::proxy
