#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "damper/base/folder_testing.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

template <class T>
using StoreResult = Expected<T, StoreError>;

// wait_for<T>([&](auto done) { store.count(done); })
template <class T, class Call>
StoreResult<T> wait_for(const Call& call) {
  auto promise = std::make_shared<std::promise<StoreResult<T>>>();
  auto future = promise->get_future();
  call(Store::Done<T>([promise](StoreResult<T> result) { promise->set_value(std::move(result)); }));
  return future.get();
}

inline constexpr UnixTime at(std::int64_t ms) { return UnixTime{std::chrono::milliseconds(ms)}; }

// An empty store of the kind that the test program is for.
[[nodiscard]] std::unique_ptr<Store> open_contract_store(const TestFolder& folder);

// A store with the application "shop" and two endpoints, and its calls in short form.
class StoreDriver {
 public:
  static constexpr Id kFirst{1};
  static constexpr Id kSecond{2};

  explicit StoreDriver(Store& store) : store_(store) {}

  void set_up() {
    ASSERT_TRUE(
        wait_for<Store::Nothing>([&](auto done) { store_.put_application("shop", at(1), done); }));
    for (const Id id : {kFirst, kSecond}) ASSERT_TRUE(put(endpoint(id)));
  }

  static Endpoint endpoint(Id id) {
    Endpoint endpoint{.id = id, .application = "shop", .created = at(2), .config = {}};
    endpoint.config.url = "https://example.com/" + std::to_string(number(id));
    endpoint.config.secrets = {{.key = "whsec_x"}};
    return endpoint;
  }
  static Message message(std::int64_t id, std::string key = {}) {
    return {.id = Id{id},
            .application = "shop",
            .type = "order.paid",
            .ordering_key = std::move(key),
            .payload = "payload " + std::to_string(id),
            .created = at(1000)};
  }

  StoreResult<Store::Nothing> put(Endpoint endpoint) {
    return wait_for<Store::Nothing>(
        [&](auto done) { store_.put_endpoint(std::move(endpoint), done); });
  }
  StoreResult<Accepted> accept(Message message, std::vector<Id> endpoints = {kFirst}) {
    return wait_for<Accepted>([&](auto done) {
      store_.accept({std::move(message), std::move(endpoints)}, done);
    });
  }
  Claimed claim(UnixTime now, std::size_t most = 100, bool by_key = false,
                std::vector<Id> skip = {}, Id endpoint = kFirst) {
    auto claimed = wait_for<Claimed>([&](auto done) {
      store_.claim(endpoint, now, most, {.by_key = by_key}, std::move(skip), done);
    });
    EXPECT_TRUE(claimed);
    return claimed ? *std::move(claimed) : Claimed{};
  }
  // Message ids of a claim: "1 2 3".
  static std::string ids(const Claimed& claimed) {
    std::string text;
    for (const Delivery& delivery : claimed.deliveries) {
      if (!text.empty()) text += ' ';
      text += std::to_string(number(delivery.message->id));
    }
    return text;
  }
  static Settlement settlement(const Delivery& delivery, Fate fate, UnixTime due = {}) {
    Settlement settlement{.delivery = delivery, .attempt = {}, .fate = fate, .due = due};
    settlement.attempt.message = delivery.message->id;
    settlement.attempt.endpoint = delivery.endpoint;
    settlement.attempt.attempt = delivery.attempts + 1;
    settlement.attempt.time = at(2000);
    settlement.attempt.status = fate == Fate::delivered ? 204 : 503;
    settlement.attempt.outcome = fate == Fate::delivered ? "success" : "transient";
    settlement.attempts = delivery.attempts + 1;
    if (fate == Fate::dead) settlement.reason = "attempts_spent";
    return settlement;
  }
  StoreResult<bool> settle(Settlement settlement) {
    return wait_for<bool>([&](auto done) { store_.settle(std::move(settlement), done); });
  }
  bool settle(const Delivery& delivery, Fate fate, UnixTime due = {}) {
    const auto settled = settle(settlement(delivery, fate, due));
    EXPECT_TRUE(settled);
    return settled && *settled;
  }
  StoreCounts count() {
    const auto counts = wait_for<StoreCounts>([&](auto done) { store_.count(done); });
    EXPECT_TRUE(counts);
    return counts ? *counts : StoreCounts{};
  }
  std::vector<EndpointDue> find_due() {
    const auto due = wait_for<std::vector<EndpointDue>>([&](auto done) { store_.find_due(done); });
    EXPECT_TRUE(due);
    return due ? *due : std::vector<EndpointDue>{};
  }
  StoreResult<MessageStatus> find(std::int64_t id, std::string application = "shop") {
    return wait_for<MessageStatus>(
        [&](auto done) { store_.find_message(std::move(application), Id{id}, done); });
  }
  Redriven redrive(RedriveFilter filter, UnixTime now) {
    const auto redriven =
        wait_for<Redriven>([&](auto done) { store_.redrive(std::move(filter), now, done); });
    EXPECT_TRUE(redriven);
    return redriven ? *redriven : Redriven{};
  }
  std::int64_t prune(Retention retention) {
    const auto rows = wait_for<std::int64_t>([&](auto done) { store_.prune(retention, done); });
    EXPECT_TRUE(rows);
    return rows ? *rows : -1;
  }
  Store::Everything load() {
    auto all = wait_for<Store::Everything>([&](auto done) { store_.load(done); });
    EXPECT_TRUE(all);
    return all ? *std::move(all) : Store::Everything{};
  }
  std::vector<Attempt> attempts(AttemptFilter filter, Page page = {}) {
    auto list = wait_for<std::vector<Attempt>>(
        [&](auto done) { store_.list_attempts(filter, page, done); });
    EXPECT_TRUE(list);
    return list ? *std::move(list) : std::vector<Attempt>{};
  }
  std::vector<DeadLetter> dead(Id endpoint = kFirst, Page page = {}) {
    auto list = wait_for<std::vector<DeadLetter>>(
        [&](auto done) { store_.list_dead(endpoint, page, done); });
    EXPECT_TRUE(list);
    return list ? *std::move(list) : std::vector<DeadLetter>{};
  }
  // Message ids of a list: "3 2 1".
  std::string messages(MessageFilter filter, Page page = {}) {
    const auto list = wait_for<std::vector<Message>>(
        [&](auto done) { store_.list_messages(std::move(filter), page, done); });
    EXPECT_TRUE(list);
    std::string text;
    for (const Message& message : list ? *list : std::vector<Message>{}) {
      if (!text.empty()) text += ' ';
      text += std::to_string(number(message.id));
    }
    return text;
  }
  StoreResult<Store::Nothing> remove(Id endpoint) {
    return wait_for<Store::Nothing>([&](auto done) { store_.remove_endpoint(endpoint, done); });
  }
  StoreResult<Store::Nothing> remove(std::string application) {
    return wait_for<Store::Nothing>(
        [&](auto done) { store_.remove_application(std::move(application), done); });
  }
  [[nodiscard]] Store& store() noexcept { return store_; }

 private:
  Store& store_;
};

}  // namespace damper::webhooks
