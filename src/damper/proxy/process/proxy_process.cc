#include "damper/proxy/process/proxy_process.h"

#include <unistd.h>

#include <array>
#include <ostream>
#include <utility>

#include "damper/observe/log_writers.h"
#include "damper/observe/process_event.h"
#include "damper/proxy/control/control_address.h"
#include "damper/proxy/process/listen_fds.h"
#include "damper/run/clock.h"

namespace damper::proxy {

ProxyProcess::ProxyProcess(const ProxySettings& settings, const text::Stdio& streams)
    : settings_(settings),
      streams_(streams),
      log_(observe::write_to(STDERR_FILENO), {.format = settings.log_format}),
      counts_(&log_),
      feed_(&counts_) {}

std::optional<std::string> ProxyProcess::start(const StartContext& inherited) {
  if (!settings_.control.empty()) {
    const auto address = parse_control_address(settings_.control, settings_.control_tls);
    if (!address) return "--control: " + address.error();
    control_.emplace(*address, settings_.state_dir);
  }
  const auto choices =
      find_choices(settings_, control_ ? &*control_ : nullptr, kFirstRead, streams_.err);
  if (!choices) return choices.error();
  bool of_fleet = false;
  for (const ProxyChoice& choice : *choices) {
    auto why = try_start(choice, inherited);
    of_fleet = choice.of_fleet;
    if (!why) break;
    if (&choice == &choices->back()) return why;
    streams_.err << "damper: the fleet's policy is not used: " << *why << '\n';
  }
  for (const SwitchOrder& order : inherited.handover.switches) {
    // A route that is gone has no switch.
    (void)proxy_->flip(order.scope, order.which, order.setting(run::now()));
  }
  if (auto why = start_admin()) return why;
  start_control(of_fleet);
  return std::nullopt;
}

std::optional<std::string> ProxyProcess::try_start(const ProxyChoice& choice,
                                                   const StartContext& inherited) {
  const auto config = make_proxy_config(settings_, choice.text, choice.name);
  if (!config) return config.error();
  const SocketMatch match =
      match_sockets(*config, inherited.sockets,
                    {.predecessor = inherited.predecessor, .given = inherited.handover.given});
  if (auto why = find_taken(*config, match)) return why;
  if (auto why = admin_.bind(*config, match.admin)) return why;
  auto proxy = Proxy::start(*config, {.inherited = match.listeners, .events = &feed_});
  if (!proxy) {
    admin_.close();
    return proxy.error();
  }
  proxy_ = *std::move(proxy);
  expect_events(*config);
  counted_ = counts_.show_in(proxy_->registry());
  for (const config::Note& note : config->notes) streams_.err << to_string(note) << '\n';
  // The proxy has closed the sockets of its listeners.
  for (const ListenFd& socket : match.nobodys) {
    const std::string place = socket.bound.text();
    streams_.err << "damper: "
                 << (socket.name == kAdminSocket
                         ? "the admin API is not configured on " + place
                         : "no listener is named " + socket.name + " or configured on " + place)
                 << ": its socket in LISTEN_FDS was closed\n";
    close(socket.fd);
  }
  if (match.admin) close(*match.admin);  // ProxyAdmin has a duplicate.
  reloads_.emplace(settings_, *proxy_, feed_, choice.text, &admin_);
  if (choice.of_fleet) control_->on_good_policy(choice.text);
  return std::nullopt;
}

// Exposes the event counters at 0: rate() misses the first event of a new series.
void ProxyProcess::expect_events(const ProxyConfig& config) {
  constexpr std::array kFlip = {engine::name(engine::EventKind::switch_flipped)};
  constexpr std::array kReload = {engine::name(engine::EventKind::policy_reloaded)};
  counts_.expect("proxy", observe::kProcessEventNames);
  counts_.expect("proxy", kReload);
  counts_.expect("control", observe::kProcessEventNames);
  counts_.expect(SwitchScope{}.text(), kFlip);
  for (const ClusterConfig& cluster : config.clusters) {
    counts_.expect(SwitchScope::cluster(cluster.name).text(), kFlip);
  }
  for (const RouteConfig& route : config.routes) counts_.expect(route.name);
}

std::optional<std::string> ProxyProcess::start_admin() {
  return admin_.start(*proxy_, feed_, [this]() -> std::optional<ReloadRefusal> {
    auto why = reloads_->reload_file(ProxyReloads::When::always);
    if (!why) return std::nullopt;
    return ReloadRefusal{.sentence = *std::move(why), .conflict = settings_.file.empty()};
  });
}

void ProxyProcess::start_control(bool of_fleet) {
  if (!control_) return;
  reloads_->on_fleet_at_start(control_->fleet().policy, of_fleet);
  fleet_.emplace(
      [this](const std::string& text) { return reloads_->use_fleet(text); },
      [this](const SwitchScope& scope, admit::Switch which, const admit::SwitchSetting& setting) {
        return proxy_->flip(scope, which, setting);
      },
      feed_);
  control_->start(*fleet_, feed_, proxy_->registry());
}

std::string ProxyProcess::describe() const {
  const auto config = proxy_->config();
  std::vector<std::uint16_t> ports;
  ports.reserve(config->listeners.size());
  for (const auto& listener : config->listeners) ports.push_back(proxy_->port(listener.name));
  return describe_start(*config, ports, admin_.port());
}

SuccessorPlan ProxyProcess::plan_successor(const OwnCommand& command, const sigset_t& signals) {
  SuccessorPlan plan{.command = command, .sockets = {}, .signals = signals};
  const std::vector<InheritedSocket> sockets = proxy_->sockets();
  for (const auto& socket : sockets) plan.sockets.emplace_back(socket.listener, socket.fd);
  if (const auto fd = admin_.fd()) plan.sockets.emplace_back(std::string(kAdminSocket), *fd);
  Handover handover = handover_of(proxy_->state().scopes, sockets);
  if (fleet_) {
    std::erase_if(handover.switches,
                  [this](const SwitchOrder& order) { return fleet_->has_flipped(order); });
  }
  plan.message = print_handover(handover);
  return plan;
}

}  // namespace damper::proxy
