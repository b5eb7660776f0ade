#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damper/http/codec/connection.h"

namespace damper::http {

inline constexpr Instant test_time(std::int64_t ms) {
  return Instant{std::chrono::milliseconds(ms)};
}

inline std::string describe(std::span<const Field> fields) {
  std::string text;
  for (const Field& field : fields) {
    text += " " + std::string(field.name) + "=" + std::string(field.value);
  }
  return text;
}

// A user that writes down what it hears, as words: "GET /x h a=b . data(abc) end close(finished)".
// Data that follow data are one word, so that cuts do not show. Hooks answer.
class TraceUser final : public StreamUser {
 public:
  explicit TraceUser(bool consumes = true) : consumes_(consumes) {}

  void on_head(const Head& head, bool end) override {
    if (head.is_request()) {
      say(std::string(head.method) + " " + std::string(head.target) + " " +
          std::string(head.authority));
    } else {
      say(std::to_string(head.status));
    }
    text_ += describe(head.fields);
    if (head.content_length) text_ += " length=" + std::to_string(*head.content_length);
    if (!head.upgrade.empty()) text_ += " upgrade=" + std::string(head.upgrade);
    if (end) say("end");
    if (when_head) when_head();
    if (end && when_end) when_end();
  }
  void on_interim(const Head& head) override {
    say("(" + std::to_string(head.status) + describe(head.fields) + ")");
  }
  void on_data(std::string_view bytes) override {
    data += bytes;
    pending_data_ += bytes;
    if (consumes_ && stream != nullptr) stream->consumed(bytes.size());
    if (when_data) when_data();
  }
  void on_end(std::span<const Field> trailers) override {
    say("end" + describe(trailers));
    if (when_end) when_end();
  }
  void on_writable() override {
    ++writable;
    if (when_writable) when_writable();
  }
  void on_close(CloseReason reason) override {
    say("close(" + std::string(name(reason)) + ")");
    ++closed;
    close_reason = reason;
    if (when_close) when_close();
  }

  [[nodiscard]] std::string text() {
    flush();
    return text_;
  }

  void forget_data() {
    data.clear();
    pending_data_.clear();
  }

  Stream* stream = nullptr;
  std::string data;
  int writable = 0;
  int closed = 0;
  CloseReason close_reason = CloseReason::finished;
  std::function<void()> when_head;
  std::function<void()> when_data;
  std::function<void()> when_end;
  std::function<void()> when_writable;
  std::function<void()> when_close;

 private:
  void flush() {
    if (pending_data_.empty()) return;
    const std::string words =
        pending_data_.size() > 40 ? std::to_string(pending_data_.size()) + " bytes" : pending_data_;
    text_ += (text_.empty() ? "" : " ") + ("data(" + words + ")");
    pending_data_.clear();
  }
  void say(const std::string& word) {
    flush();
    if (!text_.empty()) text_ += " ";
    text_ += word;
  }

  bool consumes_;
  std::string text_;
  std::string pending_data_;
};

// Owns one end: counts the changes it is told of, and makes a user for each request.
class TestEnd final : public ConnectionOwner, public RequestSink {
 public:
  void on_change(Connection&) override { ++changes; }
  StreamUser& on_request(Stream& stream) override {
    users.push_back(std::make_unique<TraceUser>(consumes));
    TraceUser& user = *users.back();
    user.stream = &stream;
    if (when_request) when_request(user);
    return user;
  }

  void on_refused(const RefusedRequest& request) override {
    refused += std::to_string(request.status) + " " + std::string(name(request.reason)) + " " +
               std::string(request.peer.protocol) + "; ";
  }

  // All that the users heard, in the order of the requests.
  [[nodiscard]] std::string text() {
    std::string all;
    for (const auto& user : users) all += (all.empty() ? "" : " | ") + user->text();
    return all;
  }

  int changes = 0;
  bool consumes = true;
  std::string refused;  // requests without a user
  std::vector<std::unique_ptr<TraceUser>> users;
  std::function<void(TraceUser&)> when_request;
};

// Answers each request when it has ended, with a status and what it sent as a body.
inline void echo(TraceUser& user) {
  user.when_end = [&user, answered = false]() mutable {
    if (user.stream == nullptr || std::exchange(answered, true)) return;  // A tunnel has two ends.
    user.stream->send_head({.status = 200, .content_length = user.data.size()}, user.data.empty());
    if (!user.data.empty()) static_cast<void>(user.stream->send_data(user.data, true));
  };
}

// All that a connection has to say now.
inline std::string take_output(Connection& connection, Instant now = test_time(0)) {
  std::string all;
  while (true) {
    const std::string_view output = connection.output();
    if (output.empty()) return all;
    all += output;
    connection.sent(output.size(), now);
  }
}

// Moves bytes both ways, `cut` at a time, until nobody says more. Not more than `rounds` times.
inline void pump(Connection& a, Connection& b, std::size_t cut = 1 << 16,
                 Instant now = test_time(0), int rounds = 1 << 20) {
  const auto move = [&](Connection& from, Connection& to) {
    const std::string_view output = from.output().substr(0, cut);
    if (output.empty() || !to.wants_input()) return false;
    const std::string bytes(output);
    from.sent(bytes.size(), now);
    to.receive(bytes, now);
    return true;
  };
  while (rounds-- > 0) {
    const bool forth = move(a, b);
    const bool back = move(b, a);
    if (!forth && !back) return;
  }
}

}  // namespace damper::http
