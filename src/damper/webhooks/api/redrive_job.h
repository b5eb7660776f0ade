#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "damper/base/enum_names.h"
#include "damper/base/unix_time.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

enum class RedriveState : std::uint8_t { dry_run, running, done, stopped, failed };
inline constexpr EnumNames<RedriveState::failed> kRedriveStateNames = {"dry_run", "running", "done",
                                                                       "stopped", "failed"};

inline constexpr std::string_view kRedrivePrefix = "rd_";

// A RedriveJob delivers the dead letters of an application that match a filter again, or deletes
// them; a batch is one transaction. It is in memory: after a restart, what it has not done is dead
// as before.
struct RedriveJob {
  Id id{};
  std::string application;
  RedriveFilter filter{};     // its endpoint is set for each batch
  std::vector<Id> endpoints;  // that are left, the next one last
  RedriveState state = RedriveState::running;
  UnixTime started{};
  std::int64_t total = 0;  // when it started
  std::int64_t count = 0;  // that are due again, or deleted
  std::string error{};
};

}  // namespace damper::webhooks
