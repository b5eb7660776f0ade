#pragma once

#include <string>
#include <utility>

#include "damper/admit/switches.h"
#include "damper/engine/dependency.h"

namespace damper {

// The switches of the whole process, above those of every Dependency: the kill switch.
//   damper::switches().set(Switch::retries, {.off = true, .reason = "db failover"});
[[nodiscard]] admit::Switches& switches();

// A Dependency as the runtimes use it: an engine::Dependency under the switches of the process, so
// that a flip anywhere wakes the calls that wait.
//   damper::Dependency billing("billing");   // safe defaults
// It outlives its calls, also those that wait on an io_context: destroy that first. A Dependency
// that is destroyed while a call of it is in flight is a failed check, which names the dependency;
// the call would use its memory later.
class Dependency : public engine::Dependency {
 public:
  explicit Dependency(std::string name, const engine::Policy& policy = {},
                      admit::RetryBudget* parent_budget = nullptr)
      : engine::Dependency(std::move(name), policy,
                           {.budget = parent_budget, .switches = &damper::switches()}) {}
  ~Dependency() { check_unused(); }
  Dependency(const Dependency&) = delete;
  Dependency& operator=(const Dependency&) = delete;

 private:
  void check_unused() const noexcept;
};

}  // namespace damper
