#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/webhooks/key.h"

namespace damper::demo {

// How a receiver of the demo behaves.
struct ReceiverPlan {
  std::string name;      // of the path, too: "/shop"
  Duration down{0};      // answers 503 for this time, from its first request on
  Duration answer{0};    // until the answer
  bool refuses = false;  // nothing listens on its port
};

// WebhookReceivers are HTTP servers that receive webhooks, check their signatures, and count.
//
// Model: those that do not refuse share a server on a thread of its own, with a path each. The port
// of those that refuse is bound and does not listen.
// Thread safety: all methods may be called by any thread.
class WebhookReceivers {
 public:
  // What arrived at one of them.
  struct Counts {
    std::uint32_t first = 0;       // attempts of messages that it had not seen
    std::uint32_t again = 0;       // other attempts
    std::uint32_t accepted = 0;    // messages, each once
    std::uint32_t duplicates = 0;  // of accepted ones
    std::uint32_t invalid = 0;     // signatures

    friend Counts operator-(Counts a, const Counts& b) noexcept {
      a.first -= b.first;
      a.again -= b.again;
      a.accepted -= b.accepted;
      a.duplicates -= b.duplicates;
      a.invalid -= b.invalid;
      return a;
    }
  };

  // Listening on loopback; or a sentence on why not.
  [[nodiscard]] static Expected<std::unique_ptr<WebhookReceivers>> start(
      std::vector<ReceiverPlan> plans);
  WebhookReceivers(const WebhookReceivers&) = delete;
  WebhookReceivers& operator=(const WebhookReceivers&) = delete;
  ~WebhookReceivers();

  [[nodiscard]] std::string url(std::size_t receiver) const;
  // What it checks signatures with; without a key nothing is valid.
  void set_key(std::size_t receiver, webhooks::VerifyingKey key);
  [[nodiscard]] Counts counts(std::size_t receiver) const;
  [[nodiscard]] bool has_accepted(std::size_t receiver, const std::string& id) const;
  // Of its first request; kNever: there was none.
  [[nodiscard]] Instant first_request(std::size_t receiver) const;

 private:
  class Service;
  struct Running;
  struct Receiver {
    ReceiverPlan plan;
    int refusing = -1;  // its socket
    std::uint16_t port = 0;
    std::vector<webhooks::VerifyingKey> keys{};
    Instant first = kNever;
    Counts counts{};
    std::set<std::string> seen{};
    std::set<std::string> accepted{};
  };

  WebhookReceivers();
  // The status of the answer.
  [[nodiscard]] int take(Receiver& receiver, const std::string& id, bool valid, Instant now);

  mutable std::mutex mutex_;  // of receivers_' contents
  std::vector<std::unique_ptr<Receiver>> receivers_;
  std::unique_ptr<Running> running_;
};

}  // namespace damper::demo
