#include "damper/demo/webhook_demo.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>
#include <utility>

#include "damper/base/duration_text.h"
#include "damper/base/text/json_writer.h"
#include "damper/base/text/plain_text.h"
#include "damper/demo/dispatcher_process.h"
#include "damper/run/clock.h"
#include "damper/webhooks/api/api_client.h"

namespace damper::demo {
namespace {

using webhooks::ApiClient;

constexpr std::size_t kShop = 0;
constexpr std::int64_t kEveryTenth = 10;
constexpr const char* kRareType = "order.large";
constexpr const char* kUsualType = "order.paid";

std::vector<ReceiverPlan> plans(const WebhookDemoOptions& options) {
  return {{.name = "shop", .down = options.down},
          {.name = "billing"},
          {.name = "search"},
          {.name = "slow", .answer = options.slow},
          {.name = "dead", .refuses = true}};
}

[[nodiscard]] bool is_rare(const ReceiverPlan& plan) {
  return plan.refuses || plan.answer > Duration{0};
}

// A folder that is removed with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "damper-demo-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] bool exists() const noexcept { return !path_.empty(); }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Writes the dispatcher's file. False: it cannot be written.
[[nodiscard]] bool write_config(const WebhookDemoOptions& options, const TemporaryFolder& folder) {
  std::ofstream out(folder.file("webhooks.yaml"));
  out << "listen: 127.0.0.1:0\nstore: " << folder.file("webhooks.db")
      << "\nlog_attempts: all\negress: { allow: [127.0.0.0/8] }\ndelivery:\n  retries: [";
  Duration delay = options.open_base / 2;
  for (int i = 0; i < 30; ++i) {
    out << (i == 0 ? "" : ", ") << format_duration(delay);
    delay = std::min(2 * delay, options.open_cap);
  }
  out << "]\ncircuit_breaker: { open_base: " << format_duration(options.open_base)
      << ", open_cap: " << format_duration(options.open_cap) << " }\n";
  return out.flush().good();
}

// A request that is a JSON object, to the application `default`.
[[nodiscard]] Expected<ApiClient, webhooks::ApiClientError> open_client(std::uint16_t port) {
  return ApiClient::open({.server = "http://127.0.0.1:" + std::to_string(port)});
}

// A MessageSender sends messages with idempotency keys on a thread of its own, each until it is
// accepted.
class MessageSender {
 public:
  MessageSender(const WebhookDemoOptions& options, std::uint16_t port, Instant begun)
      : options_(options), port_(port), begun_(begun), thread_([this] { run(); }) {}
  MessageSender(const MessageSender&) = delete;
  MessageSender& operator=(const MessageSender&) = delete;
  ~MessageSender() {
    stop_.store(true);
    thread_.join();
  }

  void set_port(std::uint16_t port) noexcept { port_.store(port); }
  [[nodiscard]] std::int64_t repeated() const noexcept { return repeated_.load(); }
  // Ids by the message's number, of those that were accepted.
  [[nodiscard]] std::vector<std::string> ids() const {
    const std::scoped_lock lock(mutex_);
    return ids_;
  }

 private:
  void run() {
    const auto pause =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(1 / options_.rate));
    for (int i = 0; i < options_.messages; ++i) {
      sleep_until(add(begun_, pause * i));
      while (!stop_.load() && !send(i)) {
        ++repeated_;
        sleep_until(add(run::now(), std::chrono::milliseconds(20)));
      }
      if (stop_.load()) return;
    }
  }

  [[nodiscard]] bool send(int number) {
    const std::uint16_t port = port_.load();
    if (client_ == nullptr || client_port_ != port) {
      auto opened = open_client(port);
      if (!opened) return false;
      client_ = std::make_unique<ApiClient>(*std::move(opened));
      client_port_ = port;
    }
    const char* const type = number % kEveryTenth == 0 ? kRareType : kUsualType;
    std::ostringstream body;
    text::JsonWriter json(body);
    json.open('{');
    json.field("type", type);
    json.field("idempotency_key", "demo-" + std::to_string(number));
    json.open('{', "payload");
    json.field("type", type);
    json.field("order", number);
    json.close('}');
    json.close('}');
    const auto answer = client_->post(client_->of_application("/messages"), body.str());
    if (!answer) return false;
    const std::scoped_lock lock(mutex_);
    ids_.push_back(answer->json.find("id")->text);
    return true;
  }

  void sleep_until(Instant when) {
    while (!stop_.load() && run::now() < when) {
      std::this_thread::sleep_for(std::min<Duration>(between(run::now(), when), kWebhookBucket));
    }
  }

  const WebhookDemoOptions& options_;
  std::atomic<std::uint16_t> port_;
  const Instant begun_;
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> repeated_{0};
  mutable std::mutex mutex_;
  std::vector<std::string> ids_;
  std::unique_ptr<ApiClient> client_;  // of the thread
  std::uint16_t client_port_ = 0;
  std::thread thread_;
};

// A WebhookStage is one run of the demo.
class WebhookStage {
 public:
  WebhookStage(const WebhookDemoOptions& options, const TemporaryFolder& folder,
               WebhookReceivers& receivers, DispatcherProcess dispatcher)
      : options_(options),
        folder_(folder),
        receivers_(receivers),
        dispatcher_(std::move(dispatcher)) {
    for (const ReceiverPlan& plan : plans(options)) record_.lanes.push_back({.plan = plan});
  }

  // One sentence: an endpoint cannot be added.
  [[nodiscard]] std::optional<std::string> add_endpoints() {
    auto client = open_client(dispatcher_.port());
    if (!client) return client.error().sentence;
    for (std::size_t lane = 0; lane < record_.lanes.size(); ++lane) {
      const auto answer = client->post(client->of_application("/endpoints"), endpoint_body(lane));
      if (!answer) return answer.error().sentence;
      endpoints_.push_back(answer->json.find("id")->text);
      auto key = webhooks::VerifyingKey::parse(answer->json.find("secret")->text);
      if (!key) return key.error();
      receivers_.set_key(lane, *std::move(key));
    }
    return std::nullopt;
  }

  [[nodiscard]] Expected<WebhookDemoRecord> run(
      const std::function<void(const WebhookDemoRecord&)>& watch, const std::atomic<bool>& stop) {
    const Instant begun = run::now();
    MessageSender sender(options_, dispatcher_.port(), begun);
    for (Duration at{0}; at < options_.patience && !record_.whole && !stop.load();
         at += kWebhookBucket) {
      std::this_thread::sleep_until(
          std::chrono::steady_clock::time_point(begun.time_since_epoch() + at + kWebhookBucket));
      if (auto error = kill_and_restart(sender, begun)) return unexpected(*std::move(error));
      sample(sender, begun);
      watch(record_);
    }
    if (auto error = account(sender.ids())) return unexpected(*std::move(error));
    if (dispatcher_.stop() != 0) return unexpected(std::string("the dispatcher did not drain"));
    return std::move(record_);
  }

 private:
  [[nodiscard]] std::string endpoint_body(std::size_t lane) const {
    const ReceiverPlan& plan = record_.lanes[lane].plan;
    std::ostringstream body;
    text::JsonWriter json(body);
    json.open('{');
    json.field("url", receivers_.url(lane));
    json.field("description", plan.name);
    json.open('[', "types");
    json.element(is_rare(plan) ? kRareType : "order.*");
    json.close(']');
    if (lane == kShop) json.field("rate", options_.shop_rate);
    json.close('}');
    return body.str();
  }

  [[nodiscard]] std::optional<std::string> kill_and_restart(MessageSender& sender, Instant begun) {
    const Duration at = between(begun, run::now());
    if (!record_.killed && at >= options_.kill_at) {
      dispatcher_.kill();
      record_.killed = at;
    } else if (record_.killed && !record_.restarted && at >= *record_.killed + options_.absent) {
      auto again = DispatcherProcess::start(options_.program, folder_.file("webhooks.yaml"),
                                            folder_.file("dispatcher.log"));
      if (!again) return again.error();
      dispatcher_ = *std::move(again);
      sender.set_port(dispatcher_.port());
      record_.restarted = between(begun, run::now());
    }
    return std::nullopt;
  }

  void sample(const MessageSender& sender, Instant begun) {
    const Duration at = between(begun, run::now());
    const Instant outage = receivers_.first_request(kShop);
    if (!record_.down && outage != kNever) record_.down = between(begun, outage);
    const std::vector<std::string> ids = sender.ids();
    record_.accepted = static_cast<std::int64_t>(ids.size());
    record_.repeated = sender.repeated();
    bool all = record_.accepted == options_.messages && record_.restarted.has_value();
    for (std::size_t i = 0; i < record_.lanes.size(); ++i) {
      WebhookLane& lane = record_.lanes[i];
      const auto counts = receivers_.counts(i);
      const auto arrived = counts - lane.counts;
      lane.first.push_back(arrived.first);
      lane.again.push_back(arrived.again);
      lane.counts = counts;
      lane.expected = is_rare(lane.plan) ? (record_.accepted + kEveryTenth - 1) / kEveryTenth
                                         : record_.accepted;
      if (record_.restarted && !record_.resumed && arrived.first + arrived.again > 0) {
        record_.resumed = at;
      }
      if (!lane.plan.refuses && counts.accepted < lane.expected) all = false;
    }
    record_.whole = all;
  }

  // Looks for each delivery: at its receiver, else in the store.
  [[nodiscard]] std::optional<std::string> account(const std::vector<std::string>& ids) {
    auto client = open_client(dispatcher_.port());
    if (!client) return client.error().sentence;
    for (std::size_t number = 0; number < ids.size(); ++number) {
      const std::string& id = ids[number];
      std::optional<webhooks::ApiAnswer> stored;
      for (std::size_t lane = 0; lane < record_.lanes.size(); ++lane) {
        const bool rare = number % kEveryTenth == 0;
        if (is_rare(record_.lanes[lane].plan) && !rare) continue;
        if (receivers_.has_accepted(lane, id)) continue;
        if (!stored) {
          auto answer = client->get(client->of_application("/messages/" + id));
          const bool unknown =
              !answer && answer.error().status == webhooks::ApiClientError::kRefused;
          if (!answer && !unknown) return answer.error().sentence;
          stored = unknown ? webhooks::ApiAnswer{} : *std::move(answer);
        }
        const auto has = [&](std::string_view name) {
          const text::JsonValue* const list = stored->json.find(name);
          return list != nullptr && std::ranges::any_of(list->items, [&](const auto& delivery) {
                   return delivery.find("endpoint")->text == endpoints_[lane];
                 });
        };
        if (has("waiting")) {
          ++record_.waiting;
        } else if (has("dead")) {
          ++record_.dead;
        } else if (!receivers_.has_accepted(lane, id)) {  // It may have arrived meanwhile.
          ++record_.lost;
        }
      }
    }
    for (std::size_t i = 0; i < record_.lanes.size(); ++i) {
      record_.lanes[i].counts = receivers_.counts(i);
    }
    return std::nullopt;
  }

  const WebhookDemoOptions& options_;
  const TemporaryFolder& folder_;
  WebhookReceivers& receivers_;
  DispatcherProcess dispatcher_;
  std::vector<std::string> endpoints_;  // ids
  WebhookDemoRecord record_;
};

template <class Of>
[[nodiscard]] std::int64_t sum(const WebhookDemoRecord& record, Of of) {
  std::int64_t total = 0;
  for (const WebhookLane& lane : record.lanes) total += of(lane);
  return total;
}

}  // namespace

WebhookDemoOptions WebhookDemoOptions::quick() {
  using namespace std::chrono_literals;
  WebhookDemoOptions options;
  options.messages = 300;
  options.rate = 300;
  options.down = 1500ms;
  options.slow = 100ms;
  options.kill_at = 600ms;
  options.absent = 200ms;
  options.open_base = 200ms;
  options.open_cap = 500ms;
  options.patience = 40s;
  return options;
}

std::int64_t expected(const WebhookDemoRecord& record) noexcept {
  return sum(record, [](const WebhookLane& lane) { return lane.expected; });
}
std::int64_t delivered(const WebhookDemoRecord& record) noexcept {
  return sum(record, [](const WebhookLane& lane) { return std::int64_t{lane.counts.accepted}; });
}
std::int64_t duplicates(const WebhookDemoRecord& record) noexcept {
  return sum(record, [](const WebhookLane& lane) { return std::int64_t{lane.counts.duplicates}; });
}

bool kept_its_promise(const WebhookDemoRecord& record) noexcept {
  return record.whole && record.lost == 0 && sum(record, [](const WebhookLane& lane) {
                                               return std::int64_t{lane.counts.invalid};
                                             }) == 0;
}

Expected<WebhookDemoRecord> run_webhook_demo(
    const WebhookDemoOptions& options, const std::function<void(const WebhookDemoRecord&)>& watch,
    const std::atomic<bool>& stop) {
  const TemporaryFolder folder;
  if (!folder.exists() || !write_config(options, folder)) {
    return unexpected(std::string("no temporary folder can be written"));
  }
  auto receivers = WebhookReceivers::start(plans(options));
  if (!receivers) return unexpected(receivers.error());
  auto dispatcher = DispatcherProcess::start(options.program, folder.file("webhooks.yaml"),
                                             folder.file("dispatcher.log"));
  if (!dispatcher) return unexpected(dispatcher.error());
  WebhookStage stage(options, folder, **receivers, *std::move(dispatcher));
  if (auto error = stage.add_endpoints()) return unexpected(*std::move(error));
  return stage.run(watch, stop);
}

}  // namespace damper::demo
