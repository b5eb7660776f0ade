#pragma once

#include <memory>
#include <optional>
#include <string>

#include "damper/engine/event.h"
#include "damper/observe/registry.h"
#include "damper/proxy/control/control_address.h"
#include "damper/proxy/control/fleet_watch.h"

namespace damper::proxy {

// A FleetTarget applies what the fleet orders. Called by the control's thread. One sentence: it was
// refused, and changed nothing.
class FleetSink {
 public:
  [[nodiscard]] virtual std::optional<std::string> on_policy(const std::string& text) = 0;
  // The switch that PREFIX/switches/SCOPE names; without a text it is gone from etcd.
  [[nodiscard]] virtual std::optional<std::string> on_switch(
      const std::string& scope, const std::optional<std::string>& text) = 0;

 protected:
  ~FleetSink() = default;
};

// A FleetControl keeps a proxy at what its fleet's etcd says, and the last good copy of it on disk.
//
//   FleetControl control(address, "/var/lib/damper");
//   if (auto why = control.load()) ...       the copy
//   if (auto why = control.read_first(2s))   what etcd has now, if it answers
//   ... start the proxy with control.fleet().policy
//   control.start(sink, events, registry);   from now on, on a thread of its own
//
// Model: FleetWatch decides, this does it: one request at a time, on a loop of its own, away from
// the traffic. The copy has the last policy that was not refused, and the switches. A policy that
// was refused is handed on again each time that all keys are read: what was in its way (a port, a
// certificate) may be gone. After a failure a new client asks, which reads the certificates anew.
// Metrics:
//   damper_control_connected, _last_revision, _errors_total, _refused_total, _age_seconds
// Invariants:
//   (1) Whatever etcd does, nothing is taken from the proxy: it goes on with what it has.
// Thread safety: none; the thread that made it calls. When the destructor returns, the sink is used
// no more.
class FleetControl {
 public:
  FleetControl(const ControlAddress& address, std::string folder);
  ~FleetControl();

  // Reads the copy, if there is one. One sentence: it cannot be read.
  [[nodiscard]] std::optional<std::string> load();
  // Reads from etcd, for at most `within`. Nothing: it answered; otherwise the reason.
  [[nodiscard]] std::optional<std::string> read_first(Duration within);
  [[nodiscard]] const Fleet& fleet() const;
  // The policy of the copy on disk; nothing: there is none.
  [[nodiscard]] const std::optional<std::string>& good_policy() const;
  // The proxy runs with this policy of the fleet's: it is good.
  void on_good_policy(std::string text);

  // Hands on the switches that are known, then everything that changes. What is referred to
  // outlives it. REQUIRES: once.
  void start(FleetSink& sink, engine::EventSink& events, observe::Registry& registry);

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace damper::proxy
