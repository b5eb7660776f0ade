#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "damper/webhooks/dispatch/deliveries.h"
#include "damper/webhooks/dispatch/holds.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

// A store in memory, with a thread as the real ones have: for tests of the API. It can be made to
// fail, and to wait.
class MemoryStore final : public Store {
 public:
  MemoryStore() : thread_([this] { run(); }) {}
  ~MemoryStore() override { end(); }

  // Does what it was asked for, then ends its thread, which calls nobody from then on.
  void end() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      paused_ = false;
    }
    changed_.notify_all();
    thread_.join();
  }

  // All operations fail from now on; nullopt: they do not.
  void fail(std::optional<StoreError> error) {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
  }
  void pause(bool paused) {
    {
      const std::lock_guard lock(mutex_);
      paused_ = paused;
    }
    changed_.notify_all();
  }
  // Changes its rows on its thread, and waits for it.
  void edit(const std::function<void(MemoryStore&)>& change) {
    std::atomic<bool> over = false;
    post([&] {
      change(*this);
      over = true;
      over.notify_all();
    });
    over.wait(false);
  }

  void put_application(std::string name, UnixTime, Done<Nothing> done) override {
    later<Nothing>(std::move(done),
                   [this, name = std::move(name)]() -> Expected<Nothing, StoreError> {
                     applications.push_back(name);
                     return Nothing{};
                   });
  }
  void remove_application(std::string name, Done<Nothing> done) override {
    later<Nothing>(
        std::move(done), [this, name = std::move(name)]() -> Expected<Nothing, StoreError> {
          std::erase(applications, name);
          std::erase_if(endpoints, [&](const auto& row) { return row.second.application == name; });
          std::erase_if(messages, [&](const auto& row) { return row.second.application == name; });
          return Nothing{};
        });
  }
  void put_endpoint(Endpoint endpoint, Done<Nothing> done) override {
    later<Nothing>(std::move(done), [this, endpoint]() -> Expected<Nothing, StoreError> {
      endpoints.insert_or_assign(endpoint.id, endpoint);
      return Nothing{};
    });
  }
  void remove_endpoint(Id endpoint, Done<Nothing> done) override {
    later<Nothing>(std::move(done), [this, endpoint]() -> Expected<Nothing, StoreError> {
      endpoints.erase(endpoint);
      return Nothing{};
    });
  }
  void put_state(EndpointState, Done<Nothing> done) override { none(std::move(done)); }
  void put_setting(std::string name, std::string text, Done<Nothing> done) override {
    later<Nothing>(std::move(done), [this, name, text]() -> Expected<Nothing, StoreError> {
      text.empty() ? void(settings.erase(name)) : void(settings.insert_or_assign(name, text));
      return Nothing{};
    });
  }
  void load(Done<Everything> done) override { none(std::move(done)); }
  void find_due(Done<std::vector<EndpointDue>> done) override { none(std::move(done)); }
  void find_old(DeliveryPlace, UnixTime, std::size_t, Done<OldDeliveries> done) override {
    none(std::move(done));
  }

  void accept(NewMessage message, Done<Accepted> done) override {
    later<Accepted>(std::move(done), [this, message]() -> Expected<Accepted, StoreError> {
      const Message& wanted = message.message;
      for (const auto& [id, known] : messages) {
        if (wanted.idempotency_key.empty() || known.application != wanted.application ||
            known.idempotency_key != wanted.idempotency_key) {
          continue;
        }
        if (known.payload == wanted.payload && known.type == wanted.type) {
          return Accepted{.message = id, .repeated = true};
        }
        return unexpected(StoreError{StoreError::Kind::conflict, "the key has another message"});
      }
      if (exists_first-- > 0)
        return unexpected(StoreError{StoreError::Kind::exists, "the id exists"});
      messages.emplace(wanted.id, wanted);
      for (const Id endpoint : message.endpoints) {
        waiting[wanted.id].push_back({.endpoint = endpoint, .due = wanted.created});
      }
      return Accepted{.message = wanted.id};
    });
  }
  void claim(Id, UnixTime, std::size_t, ClaimFilter, std::vector<Id>, Done<Claimed> done) override {
    none(std::move(done));
  }
  void settle(Settlement, Done<bool> done) override { none(std::move(done)); }

  void list_messages(MessageFilter filter, Page page, Done<std::vector<Message>> done) override {
    later<std::vector<Message>>(
        std::move(done), [this, filter, page]() -> Expected<std::vector<Message>, StoreError> {
          std::vector<Message> found;
          for (auto row = messages.rbegin(); row != messages.rend(); ++row) {
            const Message& message = row->second;
            if (message.application != filter.application ||
                (!filter.type.empty() && message.type != filter.type) ||
                (page.before && number(message.id) >= *page.before) || found.size() == page.limit) {
              continue;
            }
            found.push_back(message);
          }
          return found;
        });
  }
  void find_message(std::string application, Id id, Done<MessageStatus> done) override {
    later<MessageStatus>(
        std::move(done), [this, application, id]() -> Expected<MessageStatus, StoreError> {
          const auto found = messages.find(id);
          if (found == messages.end() || found->second.application != application) {
            return unexpected(StoreError{StoreError::Kind::not_found, "none"});
          }
          MessageStatus status{.message = found->second, .waiting = waiting[id], .dead = {}};
          for (const DeadLetter& letter : dead) {
            if (letter.message == id) status.dead.push_back(letter);
          }
          return status;
        });
  }
  void list_attempts(AttemptFilter filter, Page page, Done<std::vector<Attempt>> done) override {
    later<std::vector<Attempt>>(
        std::move(done), [this, filter, page]() -> Expected<std::vector<Attempt>, StoreError> {
          std::vector<Attempt> found;
          for (auto row = attempts.rbegin(); row != attempts.rend(); ++row) {
            if ((filter.message && row->message != *filter.message) ||
                (filter.endpoint && row->endpoint != *filter.endpoint) ||
                (page.before && row->number >= *page.before) || found.size() == page.limit) {
              continue;
            }
            found.push_back(*row);
          }
          return found;
        });
  }
  void list_dead(Id endpoint, Page page, Done<std::vector<DeadLetter>> done) override {
    later<std::vector<DeadLetter>>(
        std::move(done), [this, endpoint, page]() -> Expected<std::vector<DeadLetter>, StoreError> {
          std::vector<DeadLetter> found;
          for (auto row = dead.rbegin(); row != dead.rend(); ++row) {
            if (row->endpoint != endpoint ||
                (page.before && number(row->message) >= *page.before) ||
                found.size() == page.limit) {
              continue;
            }
            found.push_back(*row);
          }
          return found;
        });
  }
  void redrive(RedriveFilter filter, UnixTime, Done<Redriven> done) override {
    later<Redriven>(std::move(done), [this, filter]() -> Expected<Redriven, StoreError> {
      last_redrive = filter;
      const auto is_meant = [&](const DeadLetter& letter) {
        return letter.endpoint == filter.endpoint &&
               (filter.reason.empty() || letter.reason == filter.reason);
      };
      Redriven result{.remaining = std::ranges::count_if(dead, is_meant)};
      if (filter.dry_run) return Redriven{.count = result.remaining};
      const auto most = static_cast<std::int64_t>(std::min(filter.most, most_redriven));
      for (auto row = dead.begin(); row != dead.end() && result.count < most;) {
        if (!is_meant(*row)) {
          ++row;
          continue;
        }
        row = dead.erase(row);
        ++result.count;
        --result.remaining;
      }
      return result;
    });
  }
  void count(Done<StoreCounts> done) override {
    later<StoreCounts>(std::move(done), [this]() -> Expected<StoreCounts, StoreError> {
      ++counts;
      return StoreCounts{.messages = static_cast<std::int64_t>(messages.size()),
                         .dead = static_cast<std::int64_t>(dead.size())};
    });
  }
  void prune(Retention, Done<std::int64_t> done) override { none(std::move(done)); }

  // Only in edit().
  std::vector<std::string> applications;
  std::map<Id, Endpoint> endpoints;
  std::map<Id, Message> messages;
  std::map<Id, std::vector<WaitingDelivery>> waiting;
  std::vector<Attempt> attempts;
  std::vector<DeadLetter> dead;
  std::optional<RedriveFilter> last_redrive;
  std::size_t most_redriven = 1000;  // of a call
  std::map<std::string, std::string> settings;
  int counts = 0;        // calls of count()
  int exists_first = 0;  // the next ids that are taken

 private:
  template <class T>
  void none(Done<T> done) {
    later<T>(std::move(done), []() -> Expected<T, StoreError> { return T{}; });
  }
  template <class T>
  void later(Done<T> done, std::function<Expected<T, StoreError>()> work) {
    post([this, done = std::move(done), work = std::move(work)] {
      std::optional<StoreError> error;
      {
        const std::lock_guard lock(mutex_);
        error = error_;
      }
      done(error ? Expected<T, StoreError>(unexpected(*error)) : work());
    });
  }
  void post(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || (!paused_ && !queue_.empty()); });
      if (queue_.empty()) return;
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::optional<StoreError> error_;
  bool paused_ = false;
  bool ending_ = false;
  std::thread thread_;
};

// A dispatcher that records what it is told.
class FakeDeliveries final : public Deliveries {
 public:
  void on_due(std::span<const Id> endpoints, UnixTime) override {
    due.insert(due.end(), endpoints.begin(), endpoints.end());
  }
  void on_changed(Id endpoint) override { changed.push_back(endpoint); }
  [[nodiscard]] EndpointStatus status(Id) const override { return state; }
  [[nodiscard]] DeliveryTotals totals() const override { return {.attempts = 5, .delivered = 4}; }
  bool hold(const HoldScope& scope, Hold which, const HoldOrder& order) override {
    return holds_.set(scope, which, order, kStart);
  }
  [[nodiscard]] admit::SwitchStatus holding(const HoldScope& scope, Hold which) const override {
    return holds_.status(scope, which, kStart);
  }
  [[nodiscard]] std::vector<HoldView> holds() const override { return holds_.list(kStart); }

  std::vector<Id> due;
  std::vector<Id> changed;
  EndpointStatus state;

 private:
  static constexpr Instant kStart{};
  Holds holds_;
};

}  // namespace damper::webhooks
