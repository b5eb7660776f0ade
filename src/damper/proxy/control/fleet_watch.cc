#include "damper/proxy/control/fleet_watch.h"

#include <utility>

namespace damper::proxy {

FleetWatch::FleetWatch(const FleetWatchOptions& options, Fleet known)
    : options_(options), fleet_(std::move(known)) {}

FleetStep FleetWatch::wait() const {
  FleetStep step;
  step.wake = wake_;
  return step;
}

FleetStep FleetWatch::start(Instant now, double draw) {
  // Each of a fleet begins with another member.
  endpoint_ = static_cast<std::size_t>(draw * static_cast<double>(options_.endpoints));
  return read(now);
}

FleetStep FleetWatch::read(Instant now) {
  phase_ = Phase::reading;
  bytes_.clear();
  wake_ = add(now, options_.read_timeout);
  FleetStep step = wait();
  step.close = true;
  step.send = {endpoint_, "/v3/kv/range", etcd_range(options_.prefix)};
  return step;
}

FleetStep FleetWatch::fail(std::string why, Instant now, double draw) {
  phase_ = Phase::resting;
  bytes_.clear();
  ++errors_;
  endpoint_ = (endpoint_ + 1) % options_.endpoints;
  wake_ = add(now, backoff_.next(options_.backoff, failures_, draw));
  if (failures_ < 63) ++failures_;
  FleetStep step = wait();
  step.close = true;
  connected_ = false;
  if (!std::exchange(said_lost_, true)) step.lost = std::move(why);
  return step;
}

FleetStep FleetWatch::on_status(int status, Instant now, double draw) {
  if (phase_ != Phase::reading && phase_ != Phase::watching) return wait();
  if (status == 200) return wait();
  return fail("etcd answered " + std::to_string(status), now, draw);
}

FleetStep FleetWatch::on_bytes(std::string_view bytes, Instant now, double draw) {
  if (phase_ != Phase::reading && phase_ != Phase::watching) return wait();
  if (bytes.size() > kMostEtcdBytes - bytes_.size()) {
    return fail("etcd's answer has more than " + std::to_string(kMostEtcdBytes) + " bytes", now,
                draw);
  }
  bytes_ += bytes;
  return phase_ == Phase::watching ? on_lines(now, draw) : wait();
}

FleetStep FleetWatch::on_end(bool whole, std::string_view why, Instant now, double draw) {
  if (phase_ == Phase::reading && whole) return on_read(now, draw);
  if (phase_ != Phase::reading && phase_ != Phase::watching) return wait();
  return fail(whole ? "etcd ended the watch" : std::string(why), now, draw);
}

FleetStep FleetWatch::on_timer(Instant now, double draw) {
  if (now < wake_) return wait();
  if (phase_ == Phase::reading) return fail("etcd does not answer", now, draw);
  if (phase_ == Phase::idle) return wait();
  return read(now);  // After a rest, or a watch that has lasted.
}

FleetStep FleetWatch::on_read(Instant now, double draw) {
  const auto answer = parse_etcd_range(bytes_);
  if (!answer) return fail(answer.error(), now, draw);
  if (answer->more) {
    return fail(
        "there are more than " + std::to_string(kMostEtcdKeys) + " keys under " + options_.prefix,
        now, draw);
  }
  std::vector<FleetStep::Change> changes;
  std::map<std::string, std::string> before = fleet_.switches;
  const std::string switches = options_.prefix + "/switches/";
  for (const EtcdEntry& entry : answer->entries) {
    if (entry.key.starts_with(switches)) before.erase(entry.key.substr(switches.size()));
    take(entry, changes);
  }
  for (const auto& gone : before) take({switches + gone.first, "", 0, true}, changes);
  fleet_.revision = answer->revision;
  last_response_ = now;

  phase_ = Phase::watching;
  bytes_.clear();
  // A little apart from the others of the fleet.
  wake_ = add(
      now, options_.watch_for - Duration(static_cast<std::int64_t>(
                                    draw * 0.2 * static_cast<double>(options_.watch_for.count()))));
  FleetStep step = wait();
  step.changes = std::move(changes);
  step.read = true;
  step.send = {endpoint_, "/v3/watch", etcd_watch(options_.prefix, fleet_.revision + 1)};
  connected_ = true;
  step.restored = std::exchange(said_lost_, false);
  return step;
}

FleetStep FleetWatch::on_lines(Instant now, double draw) {
  std::vector<FleetStep::Change> changes;
  std::size_t from = 0;
  for (;;) {
    const std::size_t end = bytes_.find('\n', from);
    if (end == std::string::npos) break;
    const auto answer = parse_etcd_watch(std::string_view(bytes_).substr(from, end - from));
    from = end + 1;
    // Messages before it in these bytes count: etcd does not send them again.
    std::string why;
    if (!answer) why = answer.error();
    if (answer && answer->canceled) why = "etcd canceled the watch";
    if (!why.empty()) {
      FleetStep step = fail(std::move(why), now, draw);
      step.changes = std::move(changes);
      return step;
    }
    last_response_ = now;
    if (answer->created) failures_ = 0;
    for (const EtcdEntry& entry : answer->entries) take(entry, changes);
    if (answer->revision > fleet_.revision) fleet_.revision = answer->revision;
  }
  bytes_.erase(0, from);
  FleetStep step = wait();
  step.changes = std::move(changes);
  return step;
}

void FleetWatch::take(const EtcdEntry& entry, std::vector<FleetStep::Change>& changes) {
  const std::string switches = options_.prefix + "/switches/";
  if (entry.key == options_.prefix + "/policy") {
    if (entry.deleted || fleet_.policy == entry.value) return;
    fleet_.policy = entry.value;
    changes.push_back({.is_policy = true, .text = entry.value});
  } else if (entry.key.starts_with(switches)) {
    const std::string scope = entry.key.substr(switches.size());
    const auto known = fleet_.switches.find(scope);
    if (entry.deleted) {
      if (known == fleet_.switches.end()) return;
      fleet_.switches.erase(known);
      changes.push_back({.scope = scope});
    } else {
      if (known != fleet_.switches.end() && known->second == entry.value) return;
      fleet_.switches[scope] = entry.value;
      changes.push_back({.scope = scope, .text = entry.value});
    }
  }
}

}  // namespace damper::proxy
