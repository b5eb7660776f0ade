#include "damper/proxy/process/proxy_run.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "damper/base/duration_text.h"
#include "damper/base/text/stdio.h"
#include "damper/http/net/descriptor_limit.h"
#include "damper/http/net/signal_fd.h"
#include "damper/observe/event_counts.h"
#include "damper/observe/log_writers.h"
#include "damper/observe/process_event.h"
#include "damper/observe/transition_log.h"
#include "damper/proxy/admin/event_feed.h"
#include "damper/proxy/control/control_address.h"
#include "damper/proxy/control/fleet_control.h"
#include "damper/proxy/process/descriptor_watch.h"
#include "damper/proxy/process/file_watch.h"
#include "damper/proxy/process/listen_fds.h"
#include "damper/proxy/process/proxy_admin.h"
#include "damper/proxy/process/proxy_fleet.h"
#include "damper/proxy/process/proxy_reloads.h"
#include "damper/proxy/process/proxy_settings.h"
#include "damper/proxy/process/service_notify.h"
#include "damper/proxy/process/successor.h"
#include "damper/run/clock.h"
#include "damper/run/interrupt.h"

namespace damper::proxy {
namespace {

using observe::ProcessEvent;

// What this process inherits from systemd or from a predecessor.
struct StartContext {
  std::vector<ListenFd> sockets{};  // from systemd, or from the predecessor
  Handover handover{};
  bool predecessor = false;  // this process replaces a running one
};

// A ProxyProcess assembles the parts of a proxy process: event log, proxy, reloads, admin API, and
// the fleet's control. ProxyRun, below, drives it by signals, file changes and time.
//
// Model: start() creates the parts in this order: the candidate configurations (find_choices()),
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
  ProxyProcess(const ProxySettings& settings, const text::Stdio& streams)
      : settings_(settings),
        streams_(streams),
        log_(observe::write_to(STDERR_FILENO), {.format = settings.log_format}),
        counts_(&log_),
        feed_(&counts_) {}

  // One sentence: why it failed.
  [[nodiscard]] std::optional<std::string> start(const StartContext& inherited) {
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
    for (const BreakerOrder& order : inherited.handover.breakers) {
      (void)proxy_->force(order.scope, order.replica, order.setting());
    }
    if (auto why = start_admin()) return why;
    start_control(of_fleet);
    return std::nullopt;
  }

  // REQUIRES: it has started.
  [[nodiscard]] Proxy& proxy() { return *proxy_; }
  [[nodiscard]] ProxyReloads& reloads() { return *reloads_; }
  [[nodiscard]] engine::EventSink& events() { return feed_; }
  // The text printed at the start: addresses, upstreams, a first command to try.
  [[nodiscard]] std::string describe() const {
    const auto config = proxy_->config();
    std::vector<std::uint16_t> ports;
    ports.reserve(config->listeners.size());
    for (const auto& listener : config->listeners) ports.push_back(proxy_->port(listener.name));
    return describe_start(*config, ports, admin_.port());
  }

  // The sockets, forced breakers and switches for a successor, without the switches that it reads
  // from etcd.
  [[nodiscard]] SuccessorPlan plan_successor(const OwnCommand& command, const sigset_t& signals) {
    SuccessorPlan plan{.command = command, .sockets = {}, .signals = signals};
    const std::vector<InheritedSocket> sockets = proxy_->sockets();
    for (const auto& socket : sockets) plan.sockets.emplace_back(socket.listener, socket.fd);
    if (const auto fd = admin_.fd()) plan.sockets.emplace_back(std::string(kAdminSocket), *fd);
    const ProxyState state = proxy_->state();
    Handover handover = handover_of(state.scopes, state.forced, sockets);
    if (fleet_) {
      std::erase_if(handover.switches,
                    [this](const SwitchOrder& order) { return fleet_->has_flipped(order); });
    }
    plan.message = print_handover(handover);
    return plan;
  }
  // Releases what the successor owns from now on: the copy of the fleet's policy, the admin API.
  void close_control() { control_.reset(); }
  void close_admin() { admin_.close(); }

 private:
  // One sentence: why it failed; nothing has changed.
  [[nodiscard]] std::optional<std::string> try_start(const ProxyChoice& choice,
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
  [[nodiscard]] std::optional<std::string> start_admin() {
    return admin_.start(*proxy_, feed_, [this]() -> std::optional<ReloadRefusal> {
      auto why = reloads_->reload_file(ProxyReloads::When::always);
      if (!why) return std::nullopt;
      return ReloadRefusal{.sentence = *std::move(why), .conflict = settings_.file.empty()};
    });
  }
  void start_control(bool of_fleet) {
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
  // Exposes the event counters at 0: rate() misses the first event of a new series.
  void expect_events(const ProxyConfig& config) {
    constexpr std::array kFlip = {engine::name(engine::EventKind::switch_flipped)};
    constexpr std::array kReload = {engine::name(engine::EventKind::policy_reloaded)};
    counts_.expect("proxy", observe::kProcessEventNames);
    counts_.expect("proxy", kReload);
    counts_.expect("control", observe::kProcessEventNames);
    counts_.expect(SwitchScope{}.text(), kFlip);
    for (const ClusterConfig& cluster : config.clusters) {
      counts_.expect(SwitchScope::cluster(cluster.name).text(), kFlip);
    }
    for (const RouteConfig& route : config.routes) {
      if (route.weighted_clusters.empty()) counts_.expect(route.name);
      for (const ClusterWeight& one : route.weighted_clusters) {
        counts_.expect(split_name(route.name, one.cluster));
      }
    }
  }

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

// Drives a ProxyProcess by signals, changes of the file, time, and the successor.
class ProxyRun {
 public:
  ProxyRun(const ProxySettings& settings, const text::Stdio& streams)
      : settings_(settings), streams_(streams), process_(settings, streams) {}
  ~ProxyRun() {
    if (drained_fd_ >= 0) close(drained_fd_);
  }

  // One sentence: why it failed.
  [[nodiscard]] std::optional<std::string> start() {
    drained_fd_ = eventfd(0, EFD_CLOEXEC);  // Now: later there may be no descriptor left.
    if (drained_fd_ < 0) return std::string("cannot create an eventfd: no file descriptors left");
    auto command = find_own_command();
    if (command) command_ = *std::move(command);
    const std::optional<int> ready_fd = take_ready_fd();
    Handover handover = parse_handover(take_message());
    auto sockets = take_listen_fds();
    if (!sockets) return sockets.error();
    if (!settings_.file.empty()) watch_.emplace(settings_.file);  // Before it is read.
    if (auto why = process_.start({.sockets = *std::move(sockets),
                                   .handover = std::move(handover),
                                   .predecessor = ready_fd.has_value()})) {
      return why;
    }
    const std::string parts = count_parts(*process_.proxy().config());
    streams_.err << "damper proxy, process " << getpid() << ": " << parts << '\n'
                 << process_.describe() << std::flush;
    notify_.ready(parts);
    if (ready_fd) say_ready(*ready_fd);
    if (const auto every = notify_.watchdog_every()) watchdog_due_ = add(run::now(), *every);
    return std::nullopt;
  }

  int run(http::SignalFd& signals) {
    while (!ended_) {
      const bool watches = watch_ && !drainer_.joinable();
      std::array<pollfd, 4> waits{
          pollfd{.fd = signals.fd(), .events = POLLIN, .revents = 0},
          pollfd{.fd = watches ? watch_->fd() : -1, .events = POLLIN, .revents = 0},
          pollfd{.fd = successor_ && !stopping_ ? successor_->fd() : -1,
                 .events = POLLIN,
                 .revents = 0},
          pollfd{.fd = drained_fd_, .events = POLLIN, .revents = 0}};
      (void)poll(waits.data(), waits.size(), wait_ms());
      const Instant now = run::now();
      if (waits[0].revents != 0) on_signals(signals);
      if (waits[1].revents != 0) watch_->on_ready(now);
      if (waits[2].revents != 0 && successor_ && !stopping_) on_successor(successor_->on_ready());
      if (waits[3].revents != 0) ended_ = true;
      on_time(now);
    }
    drainer_.join();
    process_.close_control();
    process_.close_admin();
    if (successor_) wait_for_successor(signals);
    return text::kOk;
  }

 private:
  [[nodiscard]] int wait_ms() const {
    Instant due = std::min({watchdog_due_, successor_due_, descriptors_due_, drain_due_});
    if (!drainer_.joinable()) due = std::min(due, certificates_due_);
    if (watch_ && !drainer_.joinable()) due = std::min(due, watch_->due());
    if (due == kNever) return -1;
    const Duration wait = std::max(between(run::now(), due), Duration{0});
    return static_cast<int>(
        std::min<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(wait).count(), 60'000));
  }

  void on_time(Instant now) {
    if (descriptors_due_ <= now) {
      descriptors_.look(http::out_of_descriptors_count(), now);
      process_.proxy().report_refusals(now);
      descriptors_due_ = add(now, DescriptorWatch::kEvery);
    }
    if (certificates_due_ <= now && !drainer_.joinable()) {
      process_.proxy().look_at_certificates();
      certificates_due_ = add(now, CertificateWatch::kEvery);
    }
    if (watch_ && !drainer_.joinable() && watch_->due() <= now) {
      watch_->on_look();
      (void)process_.reloads().reload_file(ProxyReloads::When::if_changed);
    }
    if (successor_due_ <= now) on_successor(Successor::State::failed);
    if (drain_due_ <= now) drain();
    if (watchdog_due_ <= now) {
      notify_.alive();
      watchdog_due_ = add(now, *notify_.watchdog_every());
    }
  }

  void on_signals(http::SignalFd& signals) {
    while (const int signal = signals.next()) {
      if (signal == SIGHUP && !drainer_.joinable()) reload();
      if (signal == SIGUSR2 && !drainer_.joinable() && !successor_ && !stopping_) upgrade(signals);
      if (signal == SIGTERM || signal == SIGINT) on_told_to_end();
    }
  }

  void on_told_to_end() {
    if (stopping_) {  // The second signal: exit at once.
      if (successor_) successor_->kill_now();
      _exit(run::kInterrupted);
    }
    stopping_ = true;
    if (successor_) {  // It would start to serve after this process.
      successor_->ask_to_end();
      successor_due_ = kNever;
      on_upgrade_failed("this process received a signal to exit, and the new one with it");
    }
    if (!drainer_.joinable()) begin_drain();
  }

  // The successor was told to exit too, and may still serve connections.
  void wait_for_successor(http::SignalFd& signals) {
    const Instant until = add(run::now(), process_.proxy().config()->drain_time);
    while (!successor_->has_ended() && run::now() < until) {
      pollfd wait{.fd = signals.fd(), .events = POLLIN, .revents = 0};
      if (poll(&wait, 1, 10) > 0) on_signals(signals);
    }
    (void)successor_->end();
  }

  void reload() {
    notify_.reloading(run::now());
    (void)process_.reloads().reload_file(ProxyReloads::When::always);  // A refusal is an event.
    notify_.ready(count_parts(*process_.proxy().config()));
  }

  // Reports the end to load balancers, and drains after drain_delay.
  void begin_drain() {
    const auto config = process_.proxy().config();
    const Duration delay = config->drain_delay;
    const Instant now = run::now();
    process_.events().on_event(
        {.kind = ProcessEvent::draining,
         .key = "proxy",
         .at = now,
         .length = delay + config->drain_time,
         .detail = delay > Duration{0}
                       ? "connections are accepted for another " + format_duration(delay)
                       : std::string()});
    notify_.stopping("draining");
    if (delay <= Duration{0}) return drain();
    process_.proxy().announce_drain();
    drain_due_ = add(now, delay);
  }

  void drain() {
    drain_due_ = kNever;
    const Duration within = process_.proxy().config()->drain_time;
    drainer_ = std::thread([this, within] {
      process_.proxy().drain(within);
      const std::uint64_t one = 1;
      (void)!write(drained_fd_, &one, sizeof one);
    });
  }

  void upgrade(const http::SignalFd& signals) {
    auto successor = Successor::start(process_.plan_successor(command_, signals.mask_before()));
    if (!successor) return on_upgrade_failed(successor.error());
    successor_.emplace(*std::move(successor));
    successor_due_ = add(run::now(), kUpgradeTime);
  }

  void on_successor(Successor::State state) {
    successor_due_ = kNever;
    if (state != Successor::State::ready) {
      const std::string why = successor_->end();
      successor_.reset();
      return on_upgrade_failed("the new process failed: " + why);
    }
    const pid_t pid = successor_->pid();
    successor_.reset();
    process_.close_control();  // The successor owns the copy on disk from now on.
    if (notify_.watchdog_every())
      notify_.alive();  // systemd ignores the successor until main_pid().
    notify_.main_pid(pid);
    process_.proxy().keep_socket_files();
    watchdog_due_ = kNever;
    process_.events().on_event({.kind = ProcessEvent::upgraded,
                                .key = "proxy",
                                .at = run::now(),
                                .count = pid,
                                .detail = {}});
    process_.close_admin();  // The successor has the socket.
    if (drainer_.joinable()) return;
    process_.events().on_event({.kind = ProcessEvent::draining,
                                .key = "proxy",
                                .at = run::now(),
                                .length = process_.proxy().config()->drain_time,
                                .detail = {}});
    drain();  // Without drain_delay: the successor accepts the connections.
  }

  void on_upgrade_failed(const std::string& why) {
    process_.events().on_event(
        {.kind = ProcessEvent::upgrade_failed, .key = "proxy", .at = run::now(), .detail = why});
  }

  const ProxySettings& settings_;
  const text::Stdio& streams_;
  OwnCommand command_;
  ServiceNotify notify_;
  ProxyProcess process_;
  std::optional<FileWatch> watch_;
  std::optional<Successor> successor_;
  Instant successor_due_ = kNever;
  Instant watchdog_due_ = kNever;
  Instant drain_due_ = kNever;  // by drain_delay
  DescriptorWatch descriptors_{process_.events()};
  Instant descriptors_due_{};
  Instant certificates_due_{};
  std::thread drainer_;
  int drained_fd_ = -1;
  bool stopping_ = false;  // to end, by a signal
  bool ended_ = false;
};

}  // namespace

int run_proxy(const ProxySettings& settings, const text::Stdio& streams) {
  std::signal(SIGPIPE, SIG_IGN);
  http::raise_descriptor_limit();
  ProxySettings bounded = settings;
  const std::size_t descriptors = http::reserve_descriptors();
  bounded.most_connections = most_connections(descriptors);
  bounded.most_held = most_held(descriptors);
  try {
    http::SignalFd signals({SIGHUP, SIGTERM, SIGINT, SIGUSR2});
    ProxyRun run(bounded, streams);
    if (const auto why = run.start()) {
      streams.err << "damper: " << *why << '\n';
      return text::kTrouble;
    }
    return run.run(signals);
  } catch (const std::system_error& error) {
    streams.err << "damper: the proxy cannot run: " << error.what() << '\n';
    return text::kTrouble;
  }
}

}  // namespace damper::proxy
