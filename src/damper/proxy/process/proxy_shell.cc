#include "damper/proxy/process/proxy_shell.h"

#include <unistd.h>

#include <ostream>
#include <utility>

#include "damper/observe/log_writers.h"
#include "damper/proxy/control/control_address.h"
#include "damper/proxy/process/proxy_sockets.h"
#include "damper/run/clock.h"

namespace damper::proxy {

ProxyShell::ProxyShell(const ProxySettings& settings, const text::Stdio& streams)
    : settings_(settings),
      streams_(streams),
      log_(observe::write_to(STDERR_FILENO), {.format = settings.log_format}),
      counts_(&log_),
      feed_(&counts_) {}

std::optional<std::string> ProxyShell::start(const Inherited& inherited) {
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
    // Of a route that is gone nothing is off.
    (void)proxy_->flip(order.scope, order.which, order.setting(run::now()));
  }
  if (auto why = start_admin()) return why;
  start_control(of_fleet);
  return std::nullopt;
}

std::optional<std::string> ProxyShell::try_start(const ProxyChoice& choice,
                                                 const Inherited& inherited) {
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
  for (const char* key : {"proxy", "everything"}) counts_.expect(key);
  for (const RouteConfig& route : config->routes) counts_.expect(route.name);
  counted_ = counts_.show_in(proxy_->registry());
  for (const config::Note& note : config->notes) streams_.err << to_string(note) << '\n';
  // The proxy has closed those that are its listeners'.
  for (const ListenFd& socket : match.nobodys) {
    const std::string place = place_of(socket.bound.address, socket.bound.port);
    streams_.err << "damper: "
                 << (socket.name == kAdminSocket
                         ? "the admin pages are not on " + place + " any more"
                         : "no listener is called " + socket.name + " or listens on " + place)
                 << ": that socket of LISTEN_FDS is closed\n";
    close(socket.fd);
  }
  if (match.admin) close(*match.admin);  // There is a duplicate.
  reloads_.emplace(settings_, *proxy_, feed_, choice.text, &admin_);
  if (choice.of_fleet) control_->on_good_policy(choice.text);
  return std::nullopt;
}

std::optional<std::string> ProxyShell::start_admin() {
  return admin_.start(*proxy_, feed_, [this]() -> std::optional<ReloadRefusal> {
    auto why = reloads_->reload_file(ProxyReloads::When::always);
    if (!why) return std::nullopt;
    return ReloadRefusal{.sentence = *std::move(why), .conflict = settings_.file.empty()};
  });
}

void ProxyShell::start_control(bool of_fleet) {
  if (!control_) return;
  reloads_->on_fleet_at_start(control_->fleet().policy, of_fleet);
  fleet_.emplace(
      [this](const std::string& text) { return reloads_->use_fleet(text); },
      [this](std::string_view scope, admit::Switch which, const admit::SwitchSetting& setting) {
        return proxy_->flip(scope, which, setting);
      },
      feed_);
  control_->start(*fleet_, feed_, proxy_->registry());
}

std::string ProxyShell::describe() const {
  const auto config = proxy_->config();
  std::vector<std::uint16_t> ports;
  ports.reserve(config->listeners.size());
  for (const auto& listener : config->listeners) ports.push_back(proxy_->port(listener.name));
  return describe_start(*config, ports, admin_.port());
}

SuccessorPlan ProxyShell::plan_successor(const OwnCommand& command, const sigset_t& signals) {
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
