// Input: the frames to an HTTP/2 server after the preface; the first byte selects the size of the
// reads. Each stream is closed exactly once, the pending output is bounded, and each received head
// is written as HTTP/1.1 and parsed to an equal one.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/check.h"
#include "damper/http/codec/connection.h"
#include "damper/http/codec/connection_testing.h"
#include "damper/http/codec/h1_head.h"
#include "damper/http/codec/h1_writer.h"

namespace {

using namespace damper::http;

// Writes and parses a head as HTTP/1.1, as a proxy does.
void check_head(const Head& head) {
  std::string text;
  DAMPER_CHECK(is_writable_request(head));
  append_request(text, head, {});
  H1Head again;
  DAMPER_CHECK(again.scan_request(text, {.max_bytes = 1 << 20, .max_fields = 1000}) ==
                   H1Head::Result::complete ||
               head.method == "CONNECT");
  if (head.method == "CONNECT") return;
  DAMPER_CHECK(again.size() == text.size());
  DAMPER_CHECK(again.head().method == head.method && again.head().target == head.target);
  DAMPER_CHECK(describe(again.head().fields) == describe(head.fields) ||
               find(head.fields, "expect").has_value());
}

// Answers each request, some of them early, and checks the events.
class User final : public StreamUser {
 public:
  User(Stream& stream, int manner) : stream_(stream), manner_(manner) {}
  void on_head(const Head& head, bool end) override {
    check_head(head);
    if (end || manner_ == 1) answer(end);
    if (manner_ == 2 && !done_) cancel();
  }
  void on_data(std::string_view bytes) override {
    if (done_) return;
    if (manner_ != 3) stream_.consumed(bytes.size());
    if (manner_ == 4) cancel();
  }
  void on_end(std::span<const Field>) override { answer(true); }
  void on_close(CloseReason) override {
    DAMPER_CHECK(!cancelled_);
    ++closed_;
  }
  [[nodiscard]] bool is_closed_once() const { return closed_ == (cancelled_ ? 0 : 1); }

 private:
  void answer(bool end) {
    if (done_) return;
    done_ = true;
    stream_.send_head({.status = 200}, !end);
    if (!end) return;
    static_cast<void>(stream_.send_data(std::string(70'000, 'x'), true));
  }
  void cancel() {
    done_ = true;
    cancelled_ = true;
    stream_.cancel();
  }

  Stream& stream_;
  int manner_;
  bool done_ = false;
  bool cancelled_ = false;
  int closed_ = 0;
};

class End final : public ConnectionOwner, public RequestSink {
 public:
  void on_change(Connection&) override {}
  StreamUser& on_request(Stream& stream) override {
    users.push_back(std::make_unique<User>(stream, static_cast<int>(users.size() % 5)));
    return *users.back();
  }
  std::vector<std::unique_ptr<User>> users;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
                            std::string(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t cut = data[0] == 0 ? bytes.size() : data[0];
  End end;
  const auto server =
      make_h2_server({.max_head_bytes = 4096, .max_fields = 20}, end, end, test_time(0));
  for (std::size_t at = 0; at < bytes.size(); at += cut) {
    if (!server->wants_input()) break;
    server->receive(std::string_view(bytes).substr(at, cut), test_time(0));
    const std::string_view output = server->output();
    DAMPER_CHECK(output.size() < 256 * 1024);
    server->sent(at % 3 == 0 ? output.size() / 2 : output.size(), test_time(0));
  }
  server->on_timer(server->deadline());
  server->abort(CloseReason::draining);
  DAMPER_CHECK(server->is_over() && server->streams() == 0);
  for (const auto& user : end.users) DAMPER_CHECK(user->is_closed_once());
  return 0;
}
