#pragma once

#include <span>
#include <string_view>

#include "damper/lab/scenario/scenario.h"
#include "damper/policy/lint/known_limits.h"

namespace damper::lab {

// A Defence is one protection that can be added to a scenario without any. The controllers' is
// their requeue policy; without it they retry as client-go does by default, without its bucket.
struct Defence {
  std::string_view name;
  std::string_view about;  // one sentence, without its full stop
  double more_attempts;    // how many more attempts it may send: retries or hedges per request
  void (*add)(Scenario& scenario);
};

// A Trouble is a scenario in which something goes wrong, without any defence. Its first clients
// (or, without clients, its first controllers) are those that the matrix judges.
struct Trouble {
  std::string_view name;
  std::string_view about;  // one sentence, without its full stop
  Scenario (*make)();
};

// A cell that cannot hold: the defence does what it is for, or should not be used there. The
// linter names the same reasons.
struct KnownHarm {
  std::string_view defence;
  std::string_view trouble;
  policy::HarmReason reason;
};

[[nodiscard]] std::span<const Defence> defences();
[[nodiscard]] std::span<const Trouble> troubles();
[[nodiscard]] std::span<const KnownHarm> known_harms();

// Whether the trouble is of controllers: then only the requeue policy is a defence.
[[nodiscard]] bool applies(const Defence& defence, const Scenario& trouble);

}  // namespace damper::lab
