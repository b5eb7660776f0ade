#include "receiver.h"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace damper::bench {
namespace {

constexpr std::string_view kStamp = "{\"stamp\":";

[[nodiscard]] std::int64_t quantile_us(const std::vector<std::int64_t>& sorted, double q) {
  if (sorted.empty()) return 0;
  const auto index = static_cast<std::size_t>(q * static_cast<double>(sorted.size()));
  return sorted[std::min(index, sorted.size() - 1)] / 1000;
}

}  // namespace

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

std::string stamped_payload(std::size_t size) {
  std::string payload(kStamp);
  payload.reserve(size);
  payload.append(std::to_string(monotonic_ns())).append(",\"text\":\"");
  payload.append(size - payload.size() - 2, 'x').append("\"}");
  return payload;
}

class Receiver::Visit final : private http::StreamUser {
 public:
  explicit Visit(Receiver& receiver)
      : receiver_(receiver), clock_(receiver.loop_, *this, &Visit::on_clock) {}
  [[nodiscard]] http::StreamUser& begin(http::Stream& stream) {
    stream_ = &stream;
    stamp_ns_ = 0;
    return *this;
  }

 private:
  void on_head(const http::Head& head, bool end) override {
    const std::string_view path = head.target.substr(0, head.target.find('?'));
    path_ = path == "/hook"     ? Path::hook
            : path == "/dead"   ? Path::dead
            : path == "/hole"   ? Path::hole
            : path == "/slow"   ? Path::slow
            : path == "/report" ? Path::report
                                : Path::other;
    if (end) answer();
  }
  void on_data(std::string_view bytes) override {
    if (stamp_ns_ == 0 && bytes.starts_with(kStamp)) {
      const char* const first = bytes.data() + kStamp.size();
      std::from_chars(first, bytes.data() + bytes.size(), stamp_ns_);
    }
    stream_->consumed(bytes.size());
  }
  void on_end(std::span<const http::Field> /*trailers*/) override { answer(); }
  void on_close(http::CloseReason /*reason*/) override {
    clock_.cancel();
    stream_ = nullptr;
    receiver_.spare_.push_back(this);
  }
  void on_clock(Instant /*now*/) { send(204, {}); }

  void answer() {
    ++receiver_.requests_[static_cast<std::size_t>(path_)];
    switch (path_) {
      case Path::hook:
        if (stamp_ns_ != 0) receiver_.ages_ns_.push_back(monotonic_ns() - stamp_ns_);
        return send(204, {});
      case Path::dead: return send(503, {});
      case Path::hole: return;
      case Path::slow: return clock_.arm(add(receiver_.loop_.now(), kSlow));
      case Path::report: return send(200, receiver_.report());
      case Path::other: return send(404, {});
    }
  }
  void send(int status, const std::string& body) {
    http::Head head{.status = status};
    if (status != 204) head.content_length = body.size();
    stream_->send_head(head, body.empty());
    if (!body.empty()) static_cast<void>(stream_->send_data(body, true));
  }

  Receiver& receiver_;
  http::Stream* stream_ = nullptr;
  Path path_ = Path::other;
  std::int64_t stamp_ns_ = 0;
  http::Loop::MemberTimer<Visit> clock_;
};

Receiver::Receiver(http::Loop& loop) : loop_(loop) {}
Receiver::~Receiver() = default;

http::StreamUser& Receiver::on_request(http::Stream& stream) {
  if (spare_.empty()) {
    all_.push_back(std::make_unique<Visit>(*this));
    spare_.push_back(all_.back().get());
  }
  Visit& visit = *spare_.back();
  spare_.pop_back();
  return visit.begin(stream);
}

std::string Receiver::report() {
  std::ranges::sort(ages_ns_);
  std::string json = "{";
  const auto put = [&json](std::string_view name, std::int64_t value) {
    json.append(json.size() > 1 ? ",\"" : "\"").append(name).append("\":");
    json.append(std::to_string(value));
  };
  put("hook", requests_[static_cast<std::size_t>(Path::hook)]);
  put("dead", requests_[static_cast<std::size_t>(Path::dead)]);
  put("hole", requests_[static_cast<std::size_t>(Path::hole)]);
  put("slow", requests_[static_cast<std::size_t>(Path::slow)]);
  put("ages", std::ssize(ages_ns_));
  put("p50_us", quantile_us(ages_ns_, 0.5));
  put("p99_us", quantile_us(ages_ns_, 0.99));
  put("max_us", quantile_us(ages_ns_, 1));
  json.append("}\n");
  ages_ns_.clear();
  return json;
}

}  // namespace damper::bench
