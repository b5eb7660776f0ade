#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "damper/base/instant.h"
#include "damper/http/net/loop.h"
#include "damper/http/server/handler_service.h"
#include "damper/http/server/server.h"
#include "damper/webhooks/key.h"

namespace damper::cli {

struct ReceiverOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 9000;                   // 0: a free one
  std::vector<webhooks::VerifyingKey> keys{};  // empty: signatures are not checked
  // Trouble, from the first request on.
  std::optional<int> fail{};    // the status of the answers
  Duration slow{0};             // before an answer
  bool reset = false;           // the connection is closed instead of an answer
  Duration trouble = kForever;  // its length
};

struct ReceiverCounts {
  std::uint64_t received = 0;
  std::uint64_t distinct = 0;    // ids
  std::uint64_t duplicates = 0;  // of an id that was answered with 2xx before
  std::uint64_t invalid = 0;     // signatures
  std::uint64_t refused = 0;     // by --fail and --reset
};

// A WebhookReceiver is an HTTP server that checks signatures of Standard Webhooks and prints a line
// for each request: time, id, type, which attempt of this id, and whether it is valid.
//
// Model: a valid request is answered 204, an invalid one 400; one in trouble as the options have
// it. Without keys every request is accepted.
// Invariants: (1) At most kMostIds ids are known; of others no attempts are counted.
// Thread safety: none; all on the loop's thread.
class WebhookReceiver final : private http::RequestSink {
 public:
  static constexpr std::size_t kMostIds = 1'000'000;
  static constexpr std::size_t kMostBody = std::size_t{1024} * 1024;

  // The loop and the stream outlive it.
  WebhookReceiver(http::Loop& loop, ReceiverOptions options, std::ostream& out);
  ~WebhookReceiver();

  // One sentence: why it does not listen.
  [[nodiscard]] std::optional<std::string> listen() { return server_.listen(); }
  [[nodiscard]] std::uint16_t port() const noexcept { return server_.port(); }
  [[nodiscard]] const ReceiverCounts& counts() const noexcept { return counts_; }
  void print_summary() const;

 private:
  class Reset;  // a request whose connection is closed
  class Later;  // an answer that is sent later
  struct Seen {
    std::uint32_t attempts = 0;
    bool accepted = false;
  };

  [[nodiscard]] http::StreamUser& on_request(http::Stream& stream) override;
  void answer(const http::ExchangePtr& exchange);
  [[nodiscard]] bool in_trouble();
  [[nodiscard]] Seen* find_seen(std::string_view id);
  void print_line(std::string_view id, std::string_view type, const Seen* seen,
                  std::string_view result, std::string_view answered);

  http::Loop& loop_;
  const ReceiverOptions options_;
  std::ostream& out_;
  std::optional<Instant> first_{};  // request
  ReceiverCounts counts_;
  std::unordered_map<std::string, Seen> seen_;
  std::vector<std::unique_ptr<Later>> later_;  // free ones are used again
  http::HandlerService service_;
  http::Server server_;
};

}  // namespace damper::cli
