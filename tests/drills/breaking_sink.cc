#include "breaking_sink.h"

namespace damper::drills {

// A stream for its user, a user for its stream; deletes itself when both have heard the end.
class BreakingSink::Broken final : public http::Stream, public http::StreamUser {
 public:
  Broken(http::Loop& loop, http::Stream& stream, bool at_once)
      : loop_(loop), stream_(stream), at_once_(at_once) {}
  void use(http::StreamUser& user) { user_ = &user; }

  void send_head(const http::Head& /*head*/, bool /*end*/) override { break_off(); }
  [[nodiscard]] std::size_t send_data(std::string_view bytes, bool /*end*/) override {
    return bytes.size();
  }
  void send_trailers(std::span<const http::Field> /*trailers*/) override {}
  void consumed(std::size_t bytes) override {
    if (!broken_) stream_.consumed(bytes);
  }
  void cancel() override {
    user_ = nullptr;
    if (!broken_) {
      stream_.cancel();
      delete this;
    }
  }
  [[nodiscard]] Instant began() const noexcept override { return began_; }
  [[nodiscard]] bool touched_wire() const noexcept override { return false; }

  void on_head(const http::Head& head, bool end) override {
    began_ = stream_.began();
    if (at_once_) return break_off();
    user_->on_head(head, end);
  }
  void on_data(std::string_view bytes) override {
    if (user_ != nullptr) user_->on_data(bytes);
  }
  void on_end(std::span<const http::Field> trailers) override {
    if (user_ != nullptr) user_->on_end(trailers);
  }
  void on_close(http::CloseReason reason) override {
    if (user_ != nullptr) user_->on_close(reason);
    delete this;
  }

 private:
  // The peer sees it now; the user hears of it when it has returned.
  void break_off() {
    if (broken_) return;
    broken_ = true;
    stream_.cancel();
    loop_.post([this] {
      if (user_ != nullptr) user_->on_close(http::CloseReason::reset);
      delete this;
    });
  }

  http::Loop& loop_;
  http::Stream& stream_;
  http::StreamUser* user_ = nullptr;
  const bool at_once_;
  bool broken_ = false;
  Instant began_{};
};

http::StreamUser& BreakingSink::on_request(http::Stream& stream) {
  const double draw = random_.draw() * 100;
  if (draw >= percent_) return inner_.on_request(stream);
  auto* broken = new Broken(loop_, stream, draw < percent_ / 2);  // Deletes itself.
  broken->use(inner_.on_request(*broken));
  return *broken;
}

}  // namespace damper::drills
