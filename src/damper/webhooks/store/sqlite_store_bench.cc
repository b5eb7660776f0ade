#include "damper/webhooks/store/sqlite_store.h"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <semaphore>

#include "damper/base/check.h"

namespace damper::webhooks {
namespace {

constexpr std::ptrdiff_t kInFlight = 512;  // calls of the API that wait for their commit
constexpr Id kBenchEndpoint{1};

template <class T, class Call>
Expected<T, StoreError> wait(const Call& call) {
  std::promise<Expected<T, StoreError>> promise;
  call(Store::Done<T>(
      [&](Expected<T, StoreError> result) { promise.set_value(std::move(result)); }));
  return promise.get_future().get();
}

// A store in a folder of its own, with one endpoint.
class BenchStore {
 public:
  BenchStore() {
    std::string name = (std::filesystem::temp_directory_path() / "damper-bench-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    auto opened = SqliteStore::open({.path = folder_ + "/webhooks.db"});
    DAMPER_CHECK(static_cast<bool>(opened));
    store_ = *std::move(opened);
    DAMPER_CHECK(static_cast<bool>(wait<Store::Nothing>(
        [&](auto done) { store_->put_application("bench", UnixTime{}, done); })));
    Endpoint endpoint{.id = kBenchEndpoint, .application = "bench", .created = {}, .config = {}};
    DAMPER_CHECK(static_cast<bool>(
        wait<Store::Nothing>([&](auto done) { store_->put_endpoint(endpoint, done); })));
  }
  BenchStore(const BenchStore&) = delete;
  BenchStore& operator=(const BenchStore&) = delete;
  ~BenchStore() {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  void accept() {
    slots_.acquire();
    const auto id = (std::int64_t{1'700'000'000'000} << 20) + ++last_;
    NewMessage message{.message = {.id = Id{id},
                                   .application = "bench",
                                   .type = "order.paid",
                                   .payload = std::string(1024, 'x'),
                                   .created = UnixTime(std::chrono::milliseconds(last_ / 10))},
                       .endpoints = {kBenchEndpoint}};
    store_->accept(std::move(message), [this](auto result) {
      DAMPER_CHECK(static_cast<bool>(result));
      slots_.release();
    });
  }
  // Claims up to `most` deliveries and settles them; the number of them.
  std::size_t deliver(std::size_t most) {
    auto claimed = wait<Claimed>(
        [&](auto done) { store_->claim(kBenchEndpoint, UnixTime::max(), most, {}, {}, done); });
    for (Delivery& delivery : claimed->deliveries) {
      slots_.acquire();
      Settlement settlement{.delivery = std::move(delivery), .attempt = {}};
      settlement.attempt.message = settlement.delivery.message->id;
      settlement.attempt.endpoint = kBenchEndpoint;
      settlement.attempt.status = 204;
      settlement.attempt.outcome = "success";
      store_->settle(std::move(settlement), [this](auto result) {
        DAMPER_CHECK(result && *result);
        slots_.release();
      });
    }
    return claimed->deliveries.size();
  }
  // Until all writes are durable.
  void drain() {
    for (std::ptrdiff_t i = 0; i < kInFlight; ++i) slots_.acquire();
    slots_.release(kInFlight);
  }

 private:
  std::string folder_;
  std::counting_semaphore<kInFlight> slots_{kInFlight};
  std::int64_t last_ = 0;
  std::unique_ptr<Store> store_;
};

void BM_WebhookAccept(benchmark::State& state) {
  BenchStore store;
  for (auto _ : state) {
    for (int i = 0; i < 20'000; ++i) store.accept();
    store.drain();
  }
  state.SetItemsProcessed(state.iterations() * 20'000);
}
BENCHMARK(BM_WebhookAccept)->UseRealTime()->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);

// A message is accepted, claimed and delivered.
void BM_WebhookCycle(benchmark::State& state) {
  BenchStore store;
  std::int64_t delivered = 0;
  for (auto _ : state) {
    for (int i = 0; i < 40; ++i) {
      for (int k = 0; k < 256; ++k) store.accept();
      store.drain();
      delivered += static_cast<std::int64_t>(store.deliver(256));
      store.drain();
    }
  }
  state.SetItemsProcessed(delivered);
}
BENCHMARK(BM_WebhookCycle)->UseRealTime()->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace damper::webhooks
