#include "damper/webhooks/store/postgres/postgres_store.h"

#include <utility>

#include "damper/webhooks/store/endpoint_codec.h"
#include "damper/webhooks/store/postgres/postgres_schema.h"

namespace damper::webhooks {
namespace {

constexpr std::size_t kOperationBytes = 512;  // of a queued operation, about, without its texts

using SessionKind = PostgresSession::Kind;

}  // namespace

Expected<std::unique_ptr<Store>> PostgresStore::open(PostgresStoreOptions options) {
  auto url = store::PostgresUrl::parse(options.url);
  if (!url) return unexpected(url.error());
  if (auto prepared = prepare_database(*url, options.schema); !prepared) {
    return unexpected(prepared.error());
  }
  auto clock = std::make_unique<DatabaseClock>(options.simulated_time);
  PostgresSession session(*url, options.schema, SessionKind::lists);
  auto dispatcher = register_dispatcher(session, *clock, options.times.lease);
  if (!dispatcher) return unexpected(session.unavailable(dispatcher.error()).sentence);
  std::unique_ptr<PostgresStore> opened(
      new PostgresStore(std::move(options), *url, std::move(clock), *dispatcher));
  opened->purge();
  return std::unique_ptr<Store>(std::move(opened));
}

PostgresStore::PostgresStore(PostgresStoreOptions options, const store::PostgresUrl& url,
                             std::unique_ptr<DatabaseClock> clock, std::int64_t dispatcher)
    : options_(std::move(options)),
      clock_(std::move(clock)),
      write_session_(url, options_.schema, SessionKind::writes),
      claim_session_(url, options_.schema, SessionKind::claims),
      list_session_(url, options_.schema, SessionKind::lists),
      writes_(write_session_, *clock_, dispatcher),
      claim_statements_(claim_session_, *clock_, options_.unseal, dispatcher),
      lists_(list_session_, *clock_),
      watch_({url, options_.schema, SessionKind::watch}, *clock_, options_.unseal, dispatcher,
             options_.times, [this] { poll(); }),
      writer_(options_.writer, [this](StoreThread::Batch batch) { execute_writes(batch); }),
      claims_(options_.reader,
              [](StoreThread::Batch batch) {
                for (const auto& operation : batch) {
                  operation->run();
                  operation->finish(nullptr);
                }
              }),
      reader_(options_.reader, [](StoreThread::Batch batch) {
        for (const auto& operation : batch) {
          operation->run();
          operation->finish(nullptr);
        }
      }) {
  write_session_.set_dispatcher(dispatcher);
}

// A `done` may call any method: each thread refuses what comes after its end.
PostgresStore::~PostgresStore() {
  writer_.stop();
  watch_.stop();  // calls poll(), which uses claims_
  claims_.stop();
  reader_.stop();
}

void PostgresStore::write_deliveries(DeliveryBatch& batch) {
  auto written = batch.write(write_session_, *clock_);
  if (!written && written.error().is_lost()) written = batch.write(write_session_, *clock_);
  if (!written && !written.error().is_lost() && batch.size() > 1) {
    for (DeliveryBatch& one : batch.split()) write_deliveries(one);
    return;
  }
  if (written) watch_.on_due(batch.endpoints());
  const StoreError error = written ? StoreError{} : write_session_.unavailable(written.error());
  for (StoreOperation* const operation : batch.operations()) {
    operation->finish(written ? nullptr : &error);
  }
}

// Messages and settlements are collected; what conflicts with them, or is of another kind, is
// executed after them, so that each kind is in the order of its calls.
void PostgresStore::execute_writes(StoreThread::Batch batch) {
  DeliveryBatch collected;
  const auto flush = [&] {
    if (!collected.is_empty()) write_deliveries(collected);
    collected = DeliveryBatch();
  };
  for (const auto& operation : batch) {
    if (auto* const accept = dynamic_cast<AcceptOperation*>(operation.get())) {
      if (collected.try_add(*accept)) continue;
      flush();
      (void)collected.try_add(*accept);
    } else if (auto* const settle = dynamic_cast<SettleOperation*>(operation.get())) {
      if (collected.try_add(*settle)) continue;
      flush();
      (void)collected.try_add(*settle);
    } else {
      flush();
      operation->run();
      operation->finish(nullptr);
    }
  }
  flush();
}

template <class T, class Work>
void PostgresStore::push(StoreThread& thread, PostgresSession& session, std::size_t bytes,
                         Work work, Done<T> done) {
  const auto run = [&session, work = std::move(work)]() -> Expected<T, StoreError> {
    auto result = work();
    if (!result && result.error().is_lost()) result = work();
    if (!result) return unexpected(session.unavailable(result.error()));
    return *std::move(result);
  };
  std::unique_ptr<StoreOperation> operation =
      std::make_unique<StoreOperationOf<T, decltype(run)>>(bytes, run, std::move(done));
  if (const auto error = thread.try_push(operation)) operation->finish(&*error);
}

template <class T, class Work>
void PostgresStore::write(std::size_t bytes, Work work, Done<T> done) {
  push<T>(
      writer_, write_session_, bytes, [this, work = std::move(work)] { return work(writes_); },
      std::move(done));
}

template <class Work>
void PostgresStore::configure(std::size_t bytes, Work work, bool removal, Done<Nothing> done) {
  write<Nothing>(
      bytes,
      [work = std::move(work), removal](PostgresWrites& writes) {
        auto result = work(writes);
        if (removal && result && *result) (void)writes.purge();
        return result;
      },
      [this, removal, done = std::move(done)](Expected<Nothing, StoreError> result) {
        const bool changed = static_cast<bool>(result);
        done(std::move(result));
        if (!changed) return;
        watch_.on_configured();
        if (removal) purge();
      });
}

template <class T, class Work>
void PostgresStore::list(Work work, Done<T> done) {
  push<T>(
      reader_, list_session_, kOperationBytes,
      [this, work = std::move(work)] { return work(lists_); }, std::move(done));
}

// Each part is queued after the one before, behind what has arrived meanwhile.
void PostgresStore::purge() {
  write<bool>(
      kOperationBytes, [](PostgresWrites& writes) { return writes.purge(); },
      [this](Expected<bool, StoreError> more) {
        if (more && *more) purge();
      });
}

// On the watch's thread.
void PostgresStore::poll() {
  if (polling_.exchange(true)) return;
  find_due([this](Expected<std::vector<EndpointDue>, StoreError> due) {
    polling_ = false;
    if (!due || due->empty()) return;
    StoreChange change;
    change.due = *std::move(due);
    watch_.report(std::move(change));
  });
}

void PostgresStore::put_application(std::string name, UnixTime created, Done<Nothing> done) {
  configure(
      kOperationBytes,
      [name = std::move(name), created](PostgresWrites& writes) {
        return writes.put_application(name, created);
      },
      false, std::move(done));
}

void PostgresStore::put_setting(std::string name, std::string text, Done<Nothing> done) {
  const std::size_t bytes = kOperationBytes + text.size();
  configure(
      bytes,
      [name = std::move(name), text = std::move(text)](PostgresWrites& writes) {
        return writes.put_setting(name, text);
      },
      false, std::move(done));
}

void PostgresStore::remove_application(std::string name, Done<Nothing> done) {
  configure(
      kOperationBytes,
      [name = std::move(name)](PostgresWrites& writes) { return writes.remove_application(name); },
      true, std::move(done));
}

void PostgresStore::put_endpoint(Endpoint endpoint, Done<Nothing> done) {
  std::string config = encode(endpoint.config);
  if (options_.seal) config = options_.seal(endpoint.id, config);
  const std::size_t bytes = kOperationBytes + 2 * config.size();
  configure(
      bytes,
      [endpoint = std::move(endpoint), config = std::move(config)](PostgresWrites& writes) {
        return writes.put_endpoint(endpoint, config);
      },
      false, std::move(done));
}

void PostgresStore::remove_endpoint(Id endpoint, Done<Nothing> done) {
  configure(
      kOperationBytes,
      [endpoint](PostgresWrites& writes) { return writes.remove_endpoint(endpoint); }, true,
      std::move(done));
}

void PostgresStore::put_state(EndpointState state, Done<Nothing> done) {
  write<Nothing>(
      kOperationBytes, [state](PostgresWrites& writes) { return writes.put_state(state); },
      [this, id = state.endpoint, done = std::move(done)](Expected<Nothing, StoreError> result) {
        if (result) watch_.on_state(id);
        done(std::move(result));
      });
}

void PostgresStore::accept(NewMessage message, Done<Accepted> done) {
  const std::size_t bytes =
      kOperationBytes + message.message.payload.size() + message.endpoints.size() * sizeof(Id);
  // A caller that gets `stale` has the change already.
  auto finish = [this, done = std::move(done)](Expected<Accepted, StoreError> result) {
    if (result || result.error().kind != StoreError::Kind::stale) return done(std::move(result));
    watch_.refresh([done, stale = result.error()](const StoreError* failed) {
      done(unexpected(failed != nullptr ? *failed : stale));
    });
  };
  std::unique_ptr<StoreOperation> operation =
      std::make_unique<AcceptOperation>(bytes, std::move(message), std::move(finish));
  if (const auto error = writer_.try_push(operation)) operation->finish(&*error);
}

void PostgresStore::settle(Settlement settlement, Done<bool> done) {
  const std::size_t bytes = kOperationBytes + settlement.attempt.answer.size() +
                            settlement.delivery.message->payload.size();
  std::unique_ptr<StoreOperation> operation =
      std::make_unique<SettleOperation>(bytes, std::move(settlement), std::move(done));
  if (const auto error = writer_.try_push(operation, true)) operation->finish(&*error);
}

void PostgresStore::redrive(RedriveFilter filter, UnixTime now, Done<Redriven> done) {
  const Id endpoint = filter.endpoint;
  write<Redriven>(
      kOperationBytes,
      [filter, now](PostgresWrites& writes) { return writes.redrive(filter, now); },
      [this, endpoint, done = std::move(done)](Expected<Redriven, StoreError> result) {
        if (result && result->count > 0) watch_.on_due({&endpoint, 1});
        done(std::move(result));
      });
}

void PostgresStore::prune(Retention retention, Done<std::int64_t> done) {
  write<std::int64_t>(
      kOperationBytes, [retention](PostgresWrites& writes) { return writes.prune(retention); },
      std::move(done));
}

void PostgresStore::load(Done<Everything> done) {
  push<Everything>(
      claims_, claim_session_, kOperationBytes,
      [this] {
        std::int64_t version = 0;
        auto all = claim_statements_.load(version);
        loaded_version_ = version;
        return all;
      },
      std::move(done));
}

void PostgresStore::watch(std::function<void(StoreChange)> on_change) {
  watch_.watch(loaded_version_, std::move(on_change));
}

void PostgresStore::refresh(Done<Nothing> done) {
  watch_.refresh([done = std::move(done)](const StoreError* failed) {
    if (failed != nullptr) return done(unexpected(*failed));
    done(Nothing{});
  });
}

void PostgresStore::find_due(Done<std::vector<EndpointDue>> done) {
  push<std::vector<EndpointDue>>(
      claims_, claim_session_, kOperationBytes, [this] { return claim_statements_.find_due(); },
      std::move(done));
}

void PostgresStore::find_old(DeliveryPlace place, UnixTime before, std::size_t most,
                             Done<OldDeliveries> done) {
  push<OldDeliveries>(
      claims_, claim_session_, kOperationBytes,
      [this, place, before, most] { return claim_statements_.find_old(place, before, most); },
      std::move(done));
}

void PostgresStore::claim(Id endpoint, UnixTime now, std::size_t most, ClaimFilter filter,
                          std::vector<Id> skip, Done<Claimed> done) {
  const std::size_t bytes = kOperationBytes + skip.size() * sizeof(Id);
  push<Claimed>(
      claims_, claim_session_, bytes,
      [this, endpoint, now, most, filter, skip = std::move(skip)] {
        return claim_statements_.claim(endpoint, now, most, filter, skip);
      },
      std::move(done));
}

void PostgresStore::take_probe(ProbeRequest request, Done<ProbeGrant> done) {
  push<ProbeGrant>(
      claims_, claim_session_, kOperationBytes,
      [this, request = std::move(request)] { return claim_statements_.take_probe(request); },
      std::move(done));
}

void PostgresStore::return_probe(Id endpoint, std::int64_t lease, Done<Nothing> done) {
  push<Nothing>(
      claims_, claim_session_, kOperationBytes,
      [this, endpoint, lease] { return claim_statements_.return_probe(endpoint, lease); },
      std::move(done));
}

void PostgresStore::list_messages(MessageFilter filter, Page page,
                                  Done<std::vector<Message>> done) {
  list<std::vector<Message>>(
      [filter = std::move(filter), page](PostgresLists& lists) {
        return lists.list_messages(filter, page);
      },
      std::move(done));
}

void PostgresStore::find_message(std::string application, Id id, Done<MessageStatus> done) {
  list<MessageStatus>([application = std::move(application),
                       id](PostgresLists& lists) { return lists.find_message(application, id); },
                      std::move(done));
}

void PostgresStore::list_attempts(AttemptFilter filter, Page page,
                                  Done<std::vector<Attempt>> done) {
  list<std::vector<Attempt>>(
      [filter, page](PostgresLists& lists) { return lists.list_attempts(filter, page); },
      std::move(done));
}

void PostgresStore::list_dead(Id endpoint, Page page, Done<std::vector<DeadLetter>> done) {
  list<std::vector<DeadLetter>>(
      [endpoint, page](PostgresLists& lists) { return lists.list_dead(endpoint, page); },
      std::move(done));
}

void PostgresStore::count(Done<StoreCounts> done) {
  list<StoreCounts>([](PostgresLists& lists) { return lists.count(); }, std::move(done));
}

}  // namespace damper::webhooks
