#include "damper/lab/world/active_faults.h"

#include <algorithm>

#include "damper/base/check.h"

namespace damper::lab {

ActiveFaults::ActiveFaults(const Scenario& scenario) {
  for (const FaultSpec& spec : scenario.faults) {
    const auto on =
        spec.traits().on_clients ? scenario.find_clients(spec.on) : scenario.find_service(spec.on);
    DAMPER_CHECK(on.has_value());
    all_.push_back({&spec, *on, spec.requests});
  }
}

void ActiveFaults::turn(std::size_t fault, bool on) {
  const auto place = std::lower_bound(on_.begin(), on_.end(), fault);
  const bool is_there = place != on_.end() && *place == fault;
  if (on && !is_there) on_.insert(place, fault);
  if (!on && is_there) on_.erase(place);
}

bool ActiveFaults::is_on(std::size_t fault) const noexcept {
  return std::binary_search(on_.begin(), on_.end(), fault);
}

bool ActiveFaults::covers(const Fault& fault, FaultKind kind, std::size_t service,
                          std::size_t replica) noexcept {
  if (fault.spec->kind != kind || fault.on != service) return false;
  const auto& replicas = fault.spec->replicas;
  return replicas.empty() || std::find(replicas.begin(), replicas.end(),
                                       static_cast<std::int32_t>(replica)) != replicas.end();
}

const FaultSpec* ActiveFaults::find(FaultKind kind, std::size_t service,
                                    std::size_t replica) const noexcept {
  for (const std::size_t i : on_) {
    if (covers(all_[i], kind, service, replica)) return all_[i].spec;
  }
  return nullptr;
}

Instant ActiveFaults::passes_at(std::size_t service, std::size_t replica,
                                Instant now) const noexcept {
  Instant passes = now;
  for (const std::size_t i : on_) {
    if (covers(all_[i], FaultKind::lost, service, replica)) return kNever;
    if (covers(all_[i], FaultKind::held, service, replica)) {
      passes = std::max(passes, Instant{all_[i].spec->end()});
    }
  }
  return passes;
}

double ActiveFaults::slowness(std::size_t service, std::size_t replica) const noexcept {
  double factor = 1;
  for (const std::size_t i : on_) {
    if (all_[i].spec->requests == 0 && covers(all_[i], FaultKind::slow, service, replica)) {
      factor *= all_[i].spec->amount;
    }
  }
  return factor;
}

double ActiveFaults::cost_of_next(std::size_t service, std::size_t replica) {
  double factor = 1;
  for (const std::size_t i : on_) {
    if (all_[i].requests == 0 || !covers(all_[i], FaultKind::slow, service, replica)) continue;
    factor *= all_[i].spec->amount;
    --all_[i].requests;
  }
  std::erase_if(
      on_, [this](std::size_t i) { return all_[i].spec->requests > 0 && all_[i].requests == 0; });
  return factor;
}

double ActiveFaults::capacity(std::size_t service, std::size_t replica) const noexcept {
  double share = 1;
  for (const std::size_t i : on_) {
    if (covers(all_[i], FaultKind::capacity, service, replica)) {
      share = std::min(share, all_[i].spec->amount);
    }
  }
  return share;
}

double ActiveFaults::spike(std::size_t clients) const noexcept {
  double factor = 1;
  for (const std::size_t i : on_) {
    if (all_[i].spec->kind == FaultKind::spike && all_[i].on == clients) {
      factor *= all_[i].spec->amount;
    }
  }
  return factor;
}

}  // namespace damper::lab
