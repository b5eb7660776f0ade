#include "damper/http/net/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <limits>

namespace damper::http {
namespace {

// The first descriptor of the reserve.
std::atomic<std::size_t>& first_reserved() noexcept {
  static std::atomic<std::size_t> first{std::numeric_limits<std::size_t>::max()};
  return first;
}

std::atomic<std::uint64_t>& count() noexcept {
  static std::atomic<std::uint64_t> count{0};
  return count;
}

}  // namespace

void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

std::size_t reserve_descriptors() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<std::size_t>::max();
  const std::size_t all = limit.rlim_cur;
  const std::size_t first = all - std::min(all, std::clamp<std::size_t>(all / 16, 8, 256));
  first_reserved().store(first, std::memory_order_relaxed);
  return first;
}

bool is_out_of_descriptors(int fd, bool may_use_reserve) noexcept {
  const bool is_out =
      fd < 0 ? errno == EMFILE || errno == ENFILE
             : !may_use_reserve &&
                   static_cast<std::size_t>(fd) >= first_reserved().load(std::memory_order_relaxed);
  if (is_out) count().fetch_add(1, std::memory_order_relaxed);
  return is_out;
}

std::uint64_t out_of_descriptors_count() noexcept {
  return count().load(std::memory_order_relaxed);
}

}  // namespace damper::http
