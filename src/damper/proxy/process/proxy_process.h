#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/text/stdio.h"
#include "damper/observe/event_counts.h"
#include "damper/observe/transition_log.h"
#include "damper/proxy/admin/event_feed.h"
#include "damper/proxy/control/fleet_control.h"
#include "damper/proxy/process/listen_fds.h"
#include "damper/proxy/process/proxy_admin.h"
#include "damper/proxy/process/proxy_fleet.h"
#include "damper/proxy/process/proxy_reloads.h"
#include "damper/proxy/process/proxy_settings.h"
#include "damper/proxy/process/successor.h"

namespace damper::proxy {

// What this process inherits from systemd or from a predecessor.
struct StartContext {
  std::vector<ListenFd> sockets{};  // from systemd, or from the predecessor
  Handover handover{};
  bool predecessor = false;  // this process replaces a running one
};

// A ProxyProcess assembles the parts of a proxy process: event log, proxy, reloads, admin API, and
// the fleet's control. ProxyRun drives it by signals, file changes and time.
//
// Model: start() creates the parts in this order: the candidate configurations (proxy_choices.h),
// the proxy with the first of them that it can start with, the predecessor's switches, the admin
// API, the fleet's control.
// Invariants:
//   (1) A failure is found before the proxy serves, except for the admin server's threads.
//   (2) Parts are destroyed in reverse order of construction.
// Thread safety: none; each part has its own.
class ProxyProcess {
 public:
  static constexpr Duration kFirstRead =
      std::chrono::seconds(2);  // a start waits this long for etcd

  // Both outlive it.
  ProxyProcess(const ProxySettings& settings, const text::Stdio& streams);

  // One sentence: why it failed.
  [[nodiscard]] std::optional<std::string> start(const StartContext& inherited);

  // REQUIRES: it has started.
  [[nodiscard]] Proxy& proxy() { return *proxy_; }
  [[nodiscard]] ProxyReloads& reloads() { return *reloads_; }
  [[nodiscard]] engine::EventSink& events() { return feed_; }
  // The text printed at the start: addresses, upstreams, a first command to try.
  [[nodiscard]] std::string describe() const;

  // The sockets and switches for a successor, without the switches that it reads from etcd.
  [[nodiscard]] SuccessorPlan plan_successor(const OwnCommand& command, const sigset_t& signals);
  // Releases what the successor owns from now on: the copy of the fleet's policy, the admin API.
  void close_control() { control_.reset(); }
  void close_admin() { admin_.close(); }

 private:
  // One sentence: why it failed; nothing has changed.
  [[nodiscard]] std::optional<std::string> try_start(const ProxyChoice& choice,
                                                     const StartContext& inherited);
  [[nodiscard]] std::optional<std::string> start_admin();
  void start_control(bool of_fleet);
  void expect_events(const ProxyConfig& config);

  const ProxySettings& settings_;
  const text::Stdio& streams_;
  observe::TransitionLog log_;
  observe::EventCounts counts_;
  EventFeed feed_;
  std::unique_ptr<Proxy> proxy_;
  observe::Registry::Collection counted_;
  std::optional<ProxyReloads> reloads_;
  ProxyAdmin admin_;
  std::optional<ProxyFleet> fleet_;
  std::optional<FleetControl> control_;
};

}  // namespace damper::proxy
