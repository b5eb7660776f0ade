#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "damper/admit/criticality.h"
#include "damper/base/histogram.h"
#include "damper/base/instant.h"
#include "damper/base/verdict.h"

namespace damper::http {

// The verdicts that a request at a server's door can get; `success`: it was run. `limited` is for
// doors without a queue.
inline constexpr std::array<Verdict, 6> kAdmissionVerdicts = {
    Verdict::success,         Verdict::shed,      Verdict::limited, Verdict::deadline_too_close,
    Verdict::deadline_passed, Verdict::cancelled,
};

// An AdmissionTally is what an admission has done, for whoever shows it.
//
// Thread safety: any thread may read and count. Cost: an atomic add for each request.
class AdmissionTally {
 public:
  void count(Verdict verdict, admit::Criticality c) noexcept {
    cell(verdict, c).fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t requests(Verdict verdict, admit::Criticality c) const noexcept {
    return const_cast<AdmissionTally*>(this)->cell(verdict, c).load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t requests(Verdict verdict) const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < admit::kCriticalities; ++i) {
      sum += requests(verdict, static_cast<admit::Criticality>(i));
    }
    return sum;
  }

  // Work that ended after its deadline.
  std::atomic<std::uint64_t> overruns{0};
  // What waits now: how many, and since when the one that waits longest; kNever: nobody.
  std::atomic<std::size_t> depth{0};
  std::atomic<Instant> oldest{kNever};
  Histogram waits;  // from the offer to the work
  Histogram works;  // from the start of the work to its end

 private:
  std::atomic<std::uint64_t>& cell(Verdict verdict, admit::Criticality c) noexcept {
    return counts_[static_cast<std::size_t>(verdict)][static_cast<std::size_t>(c)];
  }

  std::array<std::array<std::atomic<std::uint64_t>, admit::kCriticalities>, kVerdictNames.size()>
      counts_{};
};

}  // namespace damper::http
