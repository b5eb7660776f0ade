#include "damper/curl/perform.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>

#include "damper/curl/classify_curl.h"
#include "damper/decide/idempotency.h"
#include "damper/decide/layering.h"
#include "damper/decide/retry_after.h"
#include "damper/run/blocking.h"
#include "damper/run/clock.h"
#include "damper/run/outgoing_fields.h"
#include "damper/run/scope.h"
#include "damper/schedule/deadline_header.h"

namespace damper::curl {
namespace {

using std::chrono::milliseconds;

struct FreeList {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, FreeList>;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// The value of a line "Name: value" or "Name;"; nothing if its name is another.
std::optional<std::string_view> value_of(std::string_view line, std::string_view name) {
  if (line.size() <= name.size() || (line[name.size()] != ':' && line[name.size()] != ';') ||
      !std::equal(name.begin(), name.end(), line.begin(),
                  [](char a, char b) { return lower(a) == lower(b); })) {
    return std::nullopt;
  }
  std::string_view value = line.substr(name.size() + 1);
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  return value;
}

std::string_view find(const curl_slist* headers, std::string_view name) {
  for (; headers != nullptr; headers = headers->next) {
    if (const auto value = value_of(headers->data, name)) return *value;
  }
  return {};
}

void append(List& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  (void)list.release();
  list.reset(longer);
}

// The request's own headers and those of run::OutgoingFields. REQUIRES: inside of the attempt.
List headers_for(const Attempt& attempt, const PerformOptions& options, bool owns) {
  const bool owned = run::Scope::owned_above();  // by this call, or by one above in this process
  List list;
  for (const curl_slist* own = options.headers; own != nullptr; own = own->next) {
    const bool replaced =
        std::any_of(run::kReplacedFields.begin(), run::kReplacedFields.end(),
                    [&](std::string_view name) { return value_of(own->data, name).has_value(); });
    // The owner of a layer above that only the request's headers name is passed on.
    const auto owner = value_of(own->data, decide::kRetryOwnerHeader);
    const bool passed_on = !owned && !value_of(own->data, schedule::kRequestDeadlineHeader) &&
                           (!owner || decide::valid_owner(*owner));
    if (!replaced || passed_on) append(list, own->data);
  }
  run::OutgoingContext context{.remaining = attempt.timeout()};
  if (owned) {
    context.owner = owns ? run::owner_name(options.owner) : run::Scope::retry_owner();
    context.owner_attempt = owns ? 0 : run::Scope::retry_attempt();
    context.attempt = attempt.number();
  } else if (options.owned_above && find(list.get(), decide::kRetryOwnerHeader).empty()) {
    context.owner = run::owner_name({});  // A layer above without a name.
  }
  run::OutgoingFields fields;
  for (const run::OutgoingFields::Field& field : fields.write(context)) {
    append(list, std::string(field.name).append(": ").append(field.value));
  }
  return list;
}

int stop_when_asked(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

long whole_ms(Duration length) {
  const auto ms = std::chrono::ceil<milliseconds>(std::min(length, kLongest)).count();
  return static_cast<long>(std::clamp<std::int64_t>(ms, 1, 0x7fff'ffff));  // 0 would be for ever.
}

// Sets what an attempt needs, and sets it back.
class Prepared {
 public:
  Prepared(CURL* handle, const Attempt& attempt, const PerformOptions& options, bool owns)
      : handle_(handle), own_(options.headers), headers_(headers_for(attempt, options, owns)) {
    const long timeout = whole_ms(attempt.timeout());
    set(CURLOPT_HTTPHEADER, headers_.get());
    set(CURLOPT_TIMEOUT_MS, timeout);
    set(CURLOPT_CONNECTTIMEOUT_MS, std::min(timeout, whole_ms(options.connect_timeout)));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_XFERINFOFUNCTION, &stop_when_asked);
    set(CURLOPT_XFERINFODATA, &attempt.stop());
    set(CURLOPT_NOPROGRESS, 0L);
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  ~Prepared() {
    set(CURLOPT_HTTPHEADER, own_);
    set(CURLOPT_TIMEOUT_MS, 0L);
    set(CURLOPT_CONNECTTIMEOUT_MS, 0L);
    set(CURLOPT_NOSIGNAL, 0L);
    set(CURLOPT_NOPROGRESS, 1L);
    set(CURLOPT_XFERINFOFUNCTION, nullptr);
    set(CURLOPT_XFERINFODATA, nullptr);
  }

 private:
  template <class T>
  void set(CURLoption option, T value) {
    (void)curl_easy_setopt(handle_, option, value);
  }

  CURL* const handle_;
  curl_slist* const own_;
  const List headers_;
};

std::string_view header(CURL* handle, const char* name) {
  curl_header* found = nullptr;
  const auto code = curl_easy_header(handle, name, 0, CURLH_HEADER, -1, &found);
  return code == CURLHE_OK ? std::string_view(found->value) : std::string_view();
}

Result<long> answered(CURL* handle, long status) {
  decide::Report report{.outcome = decide::classify_http(static_cast<int>(status))};
  // Not a conflict of versions: an earlier attempt with our key is still at work, and its answer is
  // worth asking for. It says nothing about the server's health.
  if (status == 409 && header(handle, "damper-idempotency") == "under_way") {
    report.outcome = decide::Outcome::overload;
    report.unknown = true;
  }
  const UnixTime now = run::wall_time();
  decide::read_retry_after(header(handle, "Retry-After"), now, report);
  decide::read_rate_limit_reset(header(handle, "RateLimit-Reset"), now, report);
  decide::read_rate_limit_reset(header(handle, "X-RateLimit-Reset"), now, report);
  auto failure = failed(report);
  failure.error.status = static_cast<int>(status);
  return failure;
}

Result<long> attempt_curl(CURL* handle, const Attempt& attempt, const PerformOptions& options,
                          bool owns) {
  if (attempt.number() > 1 && options.rewind) options.rewind();
  const Prepared prepared(handle, attempt, options, owns);
  const CURLcode code = curl_easy_perform(handle);
  long status = 0;
  (void)curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  if (code == CURLE_OK && status < 400) return status;
  if (code == CURLE_OK || code == CURLE_HTTP_RETURNED_ERROR) return answered(handle, status);
  return failed(classify_curl(code, request_was_sent(handle)));
}

}  // namespace

CallResult<long> perform(Dependency& dependency, const PerformOptions& options, CURL* handle) {
  decide::Idempotency idempotency =
      decide::idempotency(options.method, find(options.headers, "idempotency-key"));
  idempotency.by_word = options.idempotent;
  const Options call_options{.idempotent = idempotency.repeatable(),
                             .deadline = options.deadline,
                             .stop = options.stop,
                             .owned_above = options.owned_above};
  engine::Call call(dependency, run::engine_options(call_options));
  run::start(call, options.stop);
  auto operation = [&](const Attempt& attempt) {
    return attempt_curl(handle, attempt, options, call.owns_retries());
  };
  return run::drive<long>(call, dependency.name(), call_options, operation);
}

}  // namespace damper::curl
