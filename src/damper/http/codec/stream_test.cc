#include "damper/http/codec/stream.h"

#include <gtest/gtest.h>

namespace damper::http {
namespace {

TEST(StreamUser, MayIgnoreRoom) {
  class Least final : public StreamUser {
   public:
    void on_head(const Head&, bool) override {}
    void on_data(std::string_view) override {}
    void on_end(std::span<const Field>) override {}
    void on_close(CloseReason) override {}
  };
  Least user;
  user.on_writable();
}

}  // namespace
}  // namespace damper::http
