#include "damper/base/check.h"
#include "damper/proxy/request/proxied_request.h"

// What a request keeps in memory, and what gives way when max_kept_bytes is reached.
namespace damper::proxy {

bool ProxiedRequest::try_count_kept() noexcept {
  if (table_->kept == nullptr) return true;
  std::size_t kept = head_.size() + trailers_.size() + body_.size();
  attempts_.for_each([&](const UpstreamAttempt& attempt) { kept += attempt.gathered().size(); });
  kept -= std::min(kept, kUncounted);
  if (kept > kept_ && !table_->kept->try_grow(kept - kept_)) return false;
  if (kept < kept_) table_->kept->shrink(kept_ - kept);
  kept_ = kept;
  return true;
}

bool ProxiedRequest::has_room() {
  while (!try_count_kept()) {
    if (!factory_.try_shed_stalled(now())) return false;
  }
  return true;
}

// Else clients that stall their uploads fill the memory, and everybody else is shed.
void ProxiedRequest::shed_stalled(Instant now) {
  DAMPER_CHECK(state_ == State::buffering && client_ != nullptr);
  shed(body_stalled(), now);
  body_.begin(0);
  (void)try_count_kept();
}

// A body that is sent as it arrives need not be kept; one that waits is shed.
void ProxiedRequest::on_no_room() {
  if (state_ == State::calling) {
    body_.stop_keeping();
    on_body_taken();
    if (try_count_kept()) return;
  }
  if (state_ >= State::responding) return cut(Verdict::shed);
  shed(no_room(), now());
}

void ProxiedRequest::on_response_kept() {
  if (!try_count_kept()) cut(Verdict::shed);
}

void ProxiedRequest::release_kept() noexcept {
  if (kept_ > 0) table_->kept->shrink(std::exchange(kept_, 0));
}

}  // namespace damper::proxy
