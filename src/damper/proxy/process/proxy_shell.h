#ifndef DAMPER_PROXY_PROCESS_PROXY_SHELL_H_
#define DAMPER_PROXY_PROCESS_PROXY_SHELL_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "damper/base/text/stdio.h"
#include "damper/observe/event_counts.h"
#include "damper/observe/transition_log.h"
#include "damper/proxy/admin/event_feed.h"
#include "damper/proxy/control/fleet_control.h"
#include "damper/proxy/process/handover.h"
#include "damper/proxy/process/listen_fds.h"
#include "damper/proxy/process/proxy_admin.h"
#include "damper/proxy/process/proxy_choices.h"
#include "damper/proxy/process/proxy_fleet.h"
#include "damper/proxy/process/proxy_reloads.h"
#include "damper/proxy/process/successor.h"

namespace damper::proxy {

// What another process has left to this one.
struct Inherited {
  std::vector<ListenFd> sockets{};  // systemd's, or of the process that we replace
  Handover handover{};
  bool predecessor = false;  // there is a process that we replace
};

// A ProxyShell is a proxy and what a process puts around it: its log, its admin pages, its reloads,
// its fleet's control. When and why something is asked of them, ProxyRun knows.
//
// Model: start() makes them, in the order in which each needs the one before: which texts there are
// to start with (proxy_choices.h), the first of them with which a proxy starts, the switches that a
// predecessor had turned off, the admin pages, the fleet's control.
// Invariants:
//   (1) Whatever cannot be had is found before the proxy serves, but for the admin server's
//   threads. (2) What is made later goes first.
// Thread safety: none; what its parts say of themselves.
class ProxyShell {
 public:
  static constexpr Duration kFirstRead = std::chrono::seconds(2);  // a start waits for etcd

  // What is referred to outlives it.
  ProxyShell(const ProxySettings& settings, const text::Stdio& streams);

  // One sentence: why it does not serve.
  [[nodiscard]] std::optional<std::string> start(const Inherited& inherited);

  // REQUIRES: it has started.
  [[nodiscard]] Proxy& proxy() { return *proxy_; }
  [[nodiscard]] ProxyReloads& reloads() { return *reloads_; }
  [[nodiscard]] engine::EventSink& events() { return feed_; }
  // What people read: where it listens, where it sends, what to try.
  [[nodiscard]] std::string describe() const;

  // What the process that is to replace us needs: our sockets, and what is off here; but for the
  // switches that it has from the fleet, as we have.
  [[nodiscard]] SuccessorPlan plan_successor(const OwnCommand& command, const sigset_t& signals);
  // Whatever is the next process's from now on: the fleet's copy on disk, ..
  void close_control() { control_.reset(); }
  // .. the admin pages.
  void close_admin() { admin_.close(); }

 private:
  // One sentence: why it does not start with this, and nothing has changed.
  [[nodiscard]] std::optional<std::string> try_start(const ProxyChoice& choice,
                                                     const Inherited& inherited);
  [[nodiscard]] std::optional<std::string> start_admin();
  void start_control(bool of_fleet);

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

#endif  // DAMPER_PROXY_PROCESS_PROXY_SHELL_H_
