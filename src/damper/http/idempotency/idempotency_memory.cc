#include "damper/http/idempotency/idempotency_memory.h"

#include "damper/base/check.h"

namespace damper::http {
namespace {

std::size_t size_of(const Response& answer) {
  std::size_t bytes = answer.body.size();
  for (const FieldList* list : {&answer.fields, &answer.trailers}) {
    for (const Field& field : list->view()) bytes += field.name.size() + field.value.size() + 64;
  }
  return bytes;
}

}  // namespace

std::optional<std::string> find_error(const MemoryStoreOptions& options) {
  return BoundsCheck()
      .field("most_entries", options.most_entries, options.kMostEntries)
      .field("most_bytes", options.most_bytes, options.kMostBytes)
      .field("retention", options.retention, options.kRetention)
      .error();
}

MemoryStore::MemoryStore(const MemoryStoreOptions& options)
    : options_((DAMPER_CHECK_VALID(find_error(options)), options)) {}

IdempotencyStore::Claim MemoryStore::claim(std::string_view key, const Fingerprint& request,
                                           UnixTime now) {
  const std::lock_guard lock(mutex_);
  expire(now);
  if (const auto found = entries_.find(key); found != entries_.end()) {
    const Entry& entry = found->second;
    if (entry.request != request) return counted({.state = KeyState::mismatch});
    if (entry.token != 0) return counted({.state = KeyState::under_way});
    return counted({.state = KeyState::replayed, .answer = entry.answer});
  }
  const std::size_t bytes = key.size() + kEntryBytes;
  if (!make_room(1, bytes)) return counted({.state = KeyState::full});
  Entry& entry = entries_[std::string(key)];
  entry.request = request;
  entry.token = ++tokens_;
  entry.bytes = bytes;
  bytes_ += bytes;
  publish();
  return counted({.state = KeyState::first, .token = entry.token});
}

bool MemoryStore::complete(std::string_view key, std::uint64_t token, const Response& answer,
                           UnixTime now) {
  const std::lock_guard lock(mutex_);
  const auto found = find_owned(key, token);
  if (found == entries_.end()) return false;
  expire(now);
  Entry& entry = found->second;
  const std::size_t bytes = size_of(answer);
  if (bytes <= options_.most_bytes / 2 && make_room(0, bytes)) {
    entry.answer = answer;
    entry.bytes += bytes;
    bytes_ += bytes;
  } else {
    entry.answer = answer_not_kept();  // Within kEntryBytes.
    tally_.unkept.fetch_add(1, std::memory_order_relaxed);
  }
  entry.token = 0;
  entry.expires = now + std::chrono::floor<std::chrono::milliseconds>(options_.retention);
  entry.line = answered_.insert(answered_.end(), &found->first);
  publish();
  return true;
}

void MemoryStore::release(std::string_view key, std::uint64_t token) {
  const std::lock_guard lock(mutex_);
  const auto found = find_owned(key, token);
  if (found != entries_.end()) remove(found);
}

MemoryStore::Entries::iterator MemoryStore::find_owned(std::string_view key, std::uint64_t token) {
  const auto found = entries_.find(key);
  if (found != entries_.end() && token != 0 && found->second.token == token) return found;
  tally_.lost.fetch_add(1, std::memory_order_relaxed);
  return entries_.end();
}

// Whether `entries` and `bytes` more fit, after evicting the oldest responses.
bool MemoryStore::make_room(std::size_t entries, std::size_t bytes) {
  while (entries_.size() + entries > options_.most_entries ||
         bytes_ + bytes > options_.most_bytes) {
    if (answered_.empty()) return false;
    remove(entries_.find(*answered_.front()));
    tally_.evictions.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

void MemoryStore::expire(UnixTime now) {
  while (!answered_.empty()) {
    const auto oldest = entries_.find(*answered_.front());
    if (oldest->second.expires > now) break;
    remove(oldest);
    tally_.expirations.fetch_add(1, std::memory_order_relaxed);
  }
}

void MemoryStore::remove(Entries::iterator entry) {
  DAMPER_CHECK(entry != entries_.end());
  if (entry->second.token == 0) answered_.erase(entry->second.line);
  bytes_ -= entry->second.bytes;
  entries_.erase(entry);
  publish();
}

void MemoryStore::publish() {
  tally_.entries.store(entries_.size(), std::memory_order_relaxed);
  tally_.bytes.store(bytes_, std::memory_order_relaxed);
}

}  // namespace damper::http
