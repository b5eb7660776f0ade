#include "damper/webhooks/store/sqlite_store.h"

#include <utility>

#include "damper/webhooks/store/endpoint_codec.h"
#include "damper/webhooks/store/sqlite_claims.h"
#include "damper/webhooks/store/sqlite_lists.h"
#include "damper/webhooks/store/sqlite_schema.h"
#include "damper/webhooks/store/sqlite_writes.h"

namespace damper::webhooks {
namespace {

constexpr std::size_t kOperationBytes = 512;  // of a queued operation, about, without its texts

std::size_t bytes_of(const NewMessage& message) {
  return kOperationBytes + message.message.payload.size() + message.endpoints.size() * sizeof(Id);
}
std::size_t bytes_of(const Settlement& settlement) {
  return kOperationBytes + settlement.attempt.answer.size() +
         settlement.delivery.message->payload.size();
}

// Whether an error of a batch may be of one of its operations: then each is tried alone. Others are
// of the disk or the file.
bool may_be_of_one(const store::DatabaseError& error) {
  return error.code == SQLITE_CONSTRAINT || error.code == SQLITE_TOOBIG ||
         error.code == SQLITE_MISMATCH || error.code == SQLITE_ERROR;
}

Expected<std::string> as_it_is(Id /*endpoint*/, std::string_view bytes) {
  return std::string(bytes);
}

}  // namespace

struct SqliteStore::File {
  File(const SqliteStoreOptions& options, OwnerLock lock)
      : owner(std::move(lock)),
        writer(open_writer(options.path)),
        claimer(open_reader(options.path)),
        lister(open_reader(options.path)),
        checkpoints(*writer, options.path, options.checkpoints),
        writes(*writer),
        claims(*claimer, options.unseal ? options.unseal : as_it_is),
        lists(*lister) {}

  OwnerLock owner;  // first: released when all connections are closed
  std::unique_ptr<store::Database> writer;
  std::unique_ptr<store::Database> claimer;
  std::unique_ptr<store::Database> lister;
  SqliteCheckpoints checkpoints;
  SqliteWrites writes;
  SqliteClaims claims;
  SqliteLists lists;
};

Expected<std::unique_ptr<Store>> SqliteStore::open(SqliteStoreOptions options) {
  if (options.path.empty()) return unexpected("the path of the webhook store is empty");
  auto path = find_real_path(options.path);
  if (!path) return unexpected(std::move(path).take_error());
  options.path = *std::move(path);
  auto lock = OwnerLock::take(options.path);
  if (!lock) return unexpected(std::move(lock).take_error());
  if (auto prepared = prepare_file(options.path); !prepared) {
    return unexpected(std::move(prepared).take_error());
  }
  try {
    auto file = std::make_unique<File>(options, *std::move(lock));
    std::unique_ptr<SqliteStore> store(new SqliteStore(std::move(options), std::move(file)));
    store->purge();
    return std::unique_ptr<Store>(std::move(store));
  } catch (const store::DatabaseError& error) {
    return unexpected("the webhook store '" + options.path + "' cannot be opened: " + error.text);
  }
}

SqliteStore::SqliteStore(SqliteStoreOptions options, std::unique_ptr<File> file)
    : options_(std::move(options)),
      file_(std::move(file)),
      writer_(options_.writer, [this](StoreThread::Batch batch) { execute_writes(batch); }),
      claims_(options_.reader, [this](StoreThread::Batch batch) { execute_reads(batch); }),
      lists_(options_.reader, [this](StoreThread::Batch batch) { execute_reads(batch); }) {}

// A `done` may call any method: each thread refuses what comes after its end.
SqliteStore::~SqliteStore() {
  writer_.stop();
  claims_.stop();
  lists_.stop();
}

StoreError SqliteStore::unavailable(std::string_view what,
                                    const store::DatabaseError& error) const {
  std::string sentence;
  sentence.append("the webhook store '").append(options_.path).append("' cannot be ");
  sentence.append(what).append(": ").append(error.text);
  return {StoreError::Kind::unavailable, std::move(sentence)};
}

std::optional<store::DatabaseError> SqliteStore::try_commit(StoreThread::Batch batch) {
  try {
    store::Transaction transaction(*file_->writer);
    for (const auto& operation : batch) operation->run();
    transaction.commit();
    return std::nullopt;
  } catch (const store::DatabaseError& error) {
    return error;
  }
}

void SqliteStore::execute_writes(StoreThread::Batch batch) {
  const auto error = try_commit(batch);
  if (!error) {
    for (const auto& operation : batch) operation->finish(nullptr);
    file_->checkpoints.on_committed();
  } else if (batch.size() > 1 && may_be_of_one(*error)) {
    for (std::size_t i = 0; i < batch.size(); ++i) execute_writes(batch.subspan(i, 1));
  } else {
    const StoreError reason = unavailable("written", *error);
    for (const auto& operation : batch) operation->finish(&reason);
  }
}

void SqliteStore::execute_reads(StoreThread::Batch batch) {
  for (const auto& operation : batch) {
    try {
      operation->run();
    } catch (const store::DatabaseError& error) {
      const StoreError reason = unavailable("read", error);
      operation->finish(&reason);
      continue;
    }
    operation->finish(nullptr);
  }
}

template <class T, class Work>
void SqliteStore::push(StoreThread& thread, std::size_t bytes, bool reserve, Work work,
                       Done<T> done) {
  std::unique_ptr<StoreOperation> operation =
      std::make_unique<StoreOperationOf<T, Work>>(bytes, std::move(work), std::move(done));
  if (const auto error = thread.try_push(operation, reserve)) operation->finish(&*error);
}

template <class T, class Work>
void SqliteStore::write(std::size_t bytes, Work work, Done<T> done) {
  push<T>(
      writer_, bytes, false,
      [&writes = file_->writes, work = std::move(work)] { return work(writes); }, std::move(done));
}

void SqliteStore::put_application(std::string name, UnixTime created, Done<Nothing> done) {
  write<Nothing>(
      kOperationBytes,
      [name = std::move(name), created](SqliteWrites& writes) {
        return writes.put_application(name, created);
      },
      std::move(done));
}

template <class Work>
void SqliteStore::remove(Work work, Done<Nothing> done) {
  write<Nothing>(kOperationBytes, std::move(work),
                 [this, done = std::move(done)](Expected<Nothing, StoreError> result) {
                   const bool removed = static_cast<bool>(result);
                   done(std::move(result));
                   if (removed) purge();
                 });
}

// Each part is queued after the one before, behind what has arrived meanwhile.
void SqliteStore::purge() {
  write<bool>(
      kOperationBytes,
      [](SqliteWrites& writes) { return Expected<bool, StoreError>(writes.purge()); },
      [this](Expected<bool, StoreError> more) {
        if (more && *more) purge();
      });
}

void SqliteStore::remove_application(std::string name, Done<Nothing> done) {
  remove([name = std::move(name)](SqliteWrites& writes) { return writes.remove_application(name); },
         std::move(done));
}

void SqliteStore::remove_endpoint(Id endpoint, Done<Nothing> done) {
  remove([endpoint](SqliteWrites& writes) { return writes.remove_endpoint(endpoint); },
         std::move(done));
}

void SqliteStore::put_endpoint(Endpoint endpoint, Done<Nothing> done) {
  std::string config = encode(endpoint.config);
  if (options_.seal) config = options_.seal(endpoint.id, config);
  const std::size_t bytes = kOperationBytes + 2 * config.size();
  write<Nothing>(
      bytes,
      [endpoint = std::move(endpoint), config = std::move(config)](SqliteWrites& writes) {
        return writes.put_endpoint(endpoint, config);
      },
      std::move(done));
}

void SqliteStore::put_state(EndpointState state, Done<Nothing> done) {
  write<Nothing>(
      kOperationBytes, [state](SqliteWrites& writes) { return writes.put_state(state); },
      std::move(done));
}

void SqliteStore::put_setting(std::string name, std::string text, Done<Nothing> done) {
  const std::size_t bytes = kOperationBytes + text.size();
  write<Nothing>(
      bytes,
      [name = std::move(name), text = std::move(text)](SqliteWrites& writes) {
        return writes.put_setting(name, text);
      },
      std::move(done));
}

void SqliteStore::accept(NewMessage message, Done<Accepted> done) {
  const std::size_t bytes = bytes_of(message);
  write<Accepted>(
      bytes,
      [message = std::move(message)](SqliteWrites& writes) { return writes.accept(message); },
      std::move(done));
}

void SqliteStore::settle(Settlement settlement, Done<bool> done) {
  const std::size_t bytes = bytes_of(settlement);
  push<bool>(
      writer_, bytes, true,
      [&writes = file_->writes, settlement = std::move(settlement)] {
        return Expected<bool, StoreError>(writes.deliveries().settle(settlement));
      },
      std::move(done));
}

void SqliteStore::redrive(RedriveFilter filter, UnixTime now, Done<Redriven> done) {
  write<Redriven>(
      kOperationBytes,
      [filter, now](SqliteWrites& writes) {
        return Expected<Redriven, StoreError>(writes.deliveries().redrive(filter, now));
      },
      std::move(done));
}

void SqliteStore::prune(Retention retention, Done<std::int64_t> done) {
  write<std::int64_t>(
      kOperationBytes, [retention](SqliteWrites& writes) { return writes.prune(retention); },
      std::move(done));
}

void SqliteStore::load(Done<Everything> done) {
  push<Everything>(
      claims_, kOperationBytes, false, [&claims = file_->claims] { return claims.load(); },
      std::move(done));
}

void SqliteStore::find_due(Done<std::vector<EndpointDue>> done) {
  push<std::vector<EndpointDue>>(
      claims_, kOperationBytes, false,
      [&claims = file_->claims] {
        return Expected<std::vector<EndpointDue>, StoreError>(claims.find_due());
      },
      std::move(done));
}

void SqliteStore::find_old(DeliveryPlace place, UnixTime before, std::size_t most,
                           Done<OldDeliveries> done) {
  push<OldDeliveries>(
      claims_, kOperationBytes, false,
      [&claims = file_->claims, place, before, most] {
        return Expected<OldDeliveries, StoreError>(claims.find_old(place, before, most));
      },
      std::move(done));
}

void SqliteStore::claim(Id endpoint, UnixTime now, std::size_t most, ClaimFilter filter,
                        std::vector<Id> skip, Done<Claimed> done) {
  const std::size_t bytes = kOperationBytes + skip.size() * sizeof(Id);
  push<Claimed>(
      claims_, bytes, false,
      [&claims = file_->claims, endpoint, now, most, filter, skip = std::move(skip)] {
        return Expected<Claimed, StoreError>(claims.claim(endpoint, now, most, filter, skip));
      },
      std::move(done));
}

void SqliteStore::list_messages(MessageFilter filter, Page page, Done<std::vector<Message>> done) {
  push<std::vector<Message>>(
      lists_, kOperationBytes, false,
      [&lists = file_->lists, filter = std::move(filter), page] {
        return Expected<std::vector<Message>, StoreError>(lists.list_messages(filter, page));
      },
      std::move(done));
}

void SqliteStore::find_message(std::string application, Id id, Done<MessageStatus> done) {
  push<MessageStatus>(
      lists_, kOperationBytes, false,
      [&lists = file_->lists, application = std::move(application), id] {
        return lists.find_message(application, id);
      },
      std::move(done));
}

void SqliteStore::list_attempts(AttemptFilter filter, Page page, Done<std::vector<Attempt>> done) {
  push<std::vector<Attempt>>(
      lists_, kOperationBytes, false,
      [&lists = file_->lists, filter, page] {
        return Expected<std::vector<Attempt>, StoreError>(lists.list_attempts(filter, page));
      },
      std::move(done));
}

void SqliteStore::list_dead(Id endpoint, Page page, Done<std::vector<DeadLetter>> done) {
  push<std::vector<DeadLetter>>(
      lists_, kOperationBytes, false,
      [&lists = file_->lists, endpoint, page] {
        return Expected<std::vector<DeadLetter>, StoreError>(lists.list_dead(endpoint, page));
      },
      std::move(done));
}

void SqliteStore::count(Done<StoreCounts> done) {
  push<StoreCounts>(
      lists_, kOperationBytes, false,
      [&lists = file_->lists] { return Expected<StoreCounts, StoreError>(lists.count()); },
      std::move(done));
}

}  // namespace damper::webhooks
