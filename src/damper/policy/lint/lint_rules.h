#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/policy/file/policy_file.h"
#include "damper/policy/lint/amplification.h"
#include "damper/policy/lint/lint.h"

namespace damper::policy {

// What the rules of the linter are made of. A rule adds its finding, or nothing.

using Findings = std::vector<Finding>;

// A Lens is one route as the rules see it, among all, and the findings so far.
struct Lens {
  std::span<const Route> routes;
  std::span<const Layer> layers;         // one for each route
  std::span<const Amplified> amplified;  // the same
  std::size_t position = 0;
  Findings* found = nullptr;

  [[nodiscard]] const Route& route() const { return routes[position]; }
  [[nodiscard]] const Settings& settings() const { return route().settings; }
  [[nodiscard]] const engine::Policy& policy() const { return settings().policy; }
  [[nodiscard]] const Facts& facts() const;  // Nothing is known where there are none.
  [[nodiscard]] int extra_attempts() const { return most_extra_attempts(settings()); }
  // Whether failures are retried; hedges are another matter.
  [[nodiscard]] bool retries() const;
  // The value of a key as the file would write it.
  [[nodiscard]] std::string value(std::string_view path) const;
  // Adds a finding at the place of that key.
  void add(Rule rule, std::string_view path, std::string why, std::string fix) const;
};

inline constexpr double kWide = 1.5;  // attempts for each request, from which on it is too much

void find_load(const Lens& lens);             // capacity, hidden and plain
void find_amplification(const Lens& lens);    // budget, floor, width
void find_layers(const Lens& lens);           // layered retries, stacked timeouts
void find_timing(const Lens& lens);           // deadline, jitter
void find_attempt_timeout(const Lens& lens);  // against the latencies
void find_unsafe(const Lens& lens);           // methods
void find_hedges(const Lens& lens);
void find_parts(const Lens& lens);        // breaker, throttle, rate
void find_known_harms(const Lens& lens);  // as docs/guide/harm.md has them

// "1.1", "27", "272.7": rounded to `decimals`, without trailing zeros.
[[nodiscard]] std::string decimal(double value, int decimals);
// A number of attempts, "1.331", and a number a second, "272.7/s".
[[nodiscard]] inline std::string attempts_text(double attempts) { return decimal(attempts, 3); }
[[nodiscard]] inline std::string rate_text(double rate) { return decimal(rate, 1) + "/s"; }
// A time that was computed, "207.2ms": to four significant digits.
[[nodiscard]] std::string time_text(Duration time);
// "web > api > db", at most ten of them.
[[nodiscard]] std::string path_text(const Lens& lens, const std::vector<std::size_t>& path);

}  // namespace damper::policy
