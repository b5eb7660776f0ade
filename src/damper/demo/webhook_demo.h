#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/demo/webhook_receivers.h"

namespace damper::demo {

inline constexpr Duration kWebhookBucket = std::chrono::milliseconds(100);

struct WebhookDemoOptions {
  std::string program;  // the file of `damper`
  int messages = 1000;
  double rate = 125;                             // messages a second
  Duration down = std::chrono::seconds(10);      // of the endpoint `shop`
  Duration slow = std::chrono::seconds(1);       // until the endpoint `slow` answers
  double shop_rate = 200;                        // attempts a second: the rate limit of `shop`
  Duration kill_at = std::chrono::seconds(5);    // of the dispatcher
  Duration absent = std::chrono::seconds(1);     // from the kill to the restart
  Duration open_base = std::chrono::seconds(1);  // of the breakers
  Duration open_cap = std::chrono::seconds(3);
  Duration patience = std::chrono::seconds(90);  // for all of it

  // The same in a few seconds.
  [[nodiscard]] static WebhookDemoOptions quick();
};

// An endpoint of the demo, and what its receiver has counted.
struct WebhookLane {
  ReceiverPlan plan;
  std::int64_t expected = 0;  // messages that were accepted for it
  WebhookReceivers::Counts counts{};
  std::vector<std::uint32_t> first{};  // attempts by kWebhookBucket: of new messages
  std::vector<std::uint32_t> again{};  // others
};

struct WebhookDemoRecord {
  std::vector<WebhookLane> lanes;
  std::int64_t accepted = 0;            // messages: 202
  std::int64_t repeated = 0;            // requests that were sent again with the same key
  std::optional<Duration> down{};       // since the start: the outage of `shop` began
  std::optional<Duration> killed{};     // the dispatcher
  std::optional<Duration> restarted{};  // it serves again
  std::optional<Duration> resumed{};    // the first attempt after it
  std::int64_t waiting = 0;             // deliveries in the store, at the end
  std::int64_t dead = 0;                // dead letters
  std::int64_t lost = 0;                // deliveries that are neither accepted nor in the store
  bool whole = false;                   // all deliveries to endpoints that listen were accepted
};

// The deliveries that were accepted by the dispatcher, and by the receivers.
[[nodiscard]] std::int64_t expected(const WebhookDemoRecord& record) noexcept;
[[nodiscard]] std::int64_t delivered(const WebhookDemoRecord& record) noexcept;
[[nodiscard]] std::int64_t duplicates(const WebhookDemoRecord& record) noexcept;

// Nothing was lost, all of it was delivered that can be, and every signature was valid.
[[nodiscard]] bool kept_its_promise(const WebhookDemoRecord& record) noexcept;

// The demo of webhooks: a dispatcher as a child process, and five receivers in this one.
//
// Model: all messages are for `shop`, which answers 503 for `down`, and for two healthy endpoints;
// every tenth also for one that nothing listens on and for a slow one. The dispatcher is killed at
// `kill_at` and started again; messages that are not answered are sent again with the same key. It
// ends when every endpoint that listens has accepted its messages. Then each delivery is looked for
// at the receivers and in the store: one that is in neither is lost.
// Thread safety: blocks the caller, who calls `watch` ten times a second with the record so far.
// `stop` ends it early. Or one sentence: it cannot run.
[[nodiscard]] Expected<WebhookDemoRecord> run_webhook_demo(
    const WebhookDemoOptions& options, const std::function<void(const WebhookDemoRecord&)>& watch,
    const std::atomic<bool>& stop);

}  // namespace damper::demo
