#include "damper/cli/proxy_run.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <ostream>
#include <system_error>
#include <thread>

#include "damper/cli/file_watch.h"
#include "damper/cli/handover.h"
#include "damper/cli/interrupt.h"
#include "damper/cli/proxy_fleet.h"
#include "damper/cli/proxy_reloads.h"
#include "damper/cli/service_notify.h"
#include "damper/cli/signal_fd.h"
#include "damper/cli/successor.h"
#include "damper/observe/event_counts.h"
#include "damper/observe/log_writers.h"
#include "damper/proxy/admin/administered_proxy.h"
#include "damper/proxy/admin/event_feed.h"
#include "damper/proxy/control/control_address.h"
#include "damper/proxy/control/fleet_control.h"
#include "damper/proxy/data/listener_sockets.h"
#include "damper/run/clock.h"

namespace damper::cli {
namespace {

using engine::EventKind;

constexpr Duration kFirstRead = std::chrono::seconds(2);  // how long a start waits for etcd

// A running proxy and everything around it. What is made later goes first.
class ProxyRun {
 public:
  ProxyRun(const ProxySettings& settings, const Streams& streams)
      : settings_(settings),
        streams_(streams),
        log_(observe::write_to(STDERR_FILENO), {.format = settings.log_format}),
        counts_(&log_),
        feed_(&counts_) {}
  ProxyRun(const ProxyRun&) = delete;
  ProxyRun& operator=(const ProxyRun&) = delete;
  ~ProxyRun() {
    if (drained_fd_ >= 0) close(drained_fd_);
  }

  // One sentence: why it does not run.
  [[nodiscard]] std::optional<std::string> start() {
    drained_fd_ = eventfd(0, EFD_CLOEXEC);  // Now: when it is needed, there may be none left.
    if (drained_fd_ < 0) return std::string("there are no descriptors left");
    auto command = find_own_command();
    if (command) command_ = *std::move(command);
    ready_fd_ = take_ready_fd();
    const Handover handover = parse_handover(take_message());
    const auto sockets = take_listen_fds();
    if (!sockets) return sockets.error();
    if (!settings_.file.empty()) watch_.emplace(settings_.file);  // Before it is read.
    auto choices = find_choices();
    if (!choices) return choices.error();
    const SocketSource source{.predecessor = ready_fd_.has_value(), .given = handover.given};
    for (const Choice& choice : *choices) {
      auto why = try_start(choice, *sockets, source);
      if (!why) break;
      if (&choice == &choices->back()) return why;
      streams_.err << "damper: the fleet's policy is not used: " << *why << '\n';
    }
    for (const proxy::SwitchOrder& order : handover.switches) {
      // Of a route that is gone nothing is off.
      (void)proxy_->flip(order.scope, order.which, order.setting(run::now()));
    }
    if (auto why = start_admin()) return why;
    start_control();
    say_started(*proxy_->config());
    return std::nullopt;
  }

  int run(SignalFd& signals) {
    while (!ended_) {
      const bool watches = watch_ && !drainer_.joinable();
      std::array<pollfd, 4> waits{
          pollfd{.fd = signals.fd(), .events = POLLIN, .revents = 0},
          pollfd{.fd = watches ? watch_->fd() : -1, .events = POLLIN, .revents = 0},
          pollfd{
              .fd = successor_ && !told_ ? successor_->fd() : -1, .events = POLLIN, .revents = 0},
          pollfd{.fd = drained_fd_, .events = POLLIN, .revents = 0}};
      (void)poll(waits.data(), waits.size(), wait_ms());
      const Instant now = run::now();
      if (waits[0].revents != 0) on_signals(signals);
      if (waits[1].revents != 0) watch_->on_ready(now);
      if (waits[2].revents != 0 && successor_ && !told_) on_successor(successor_->on_ready());
      if (waits[3].revents != 0) ended_ = true;
      on_time(now);
    }
    drainer_.join();
    control_.reset();
    admin_.reset();
    if (successor_) wait_for_successor(signals);
    return kOk;
  }

 private:
  // A text to start with, and what errors call it.
  struct Choice {
    std::string text;
    std::string name;
    bool of_fleet = false;
  };

  // What it may start with, the best first: the fleet's policy as etcd has it, as the copy on disk
  // has it; the file and the flags.
  [[nodiscard]] Expected<std::vector<Choice>> find_choices() {
    auto text = read_proxy_file(settings_);
    if (!text) return unexpected(text.error());
    const std::string name = settings_.file.empty() ? "the command line" : settings_.file;
    std::vector<Choice> out;
    if (!settings_.control.empty()) {
      const auto address = proxy::parse_control_address(settings_.control);
      if (!address) return unexpected("--control: " + address.error());
      control_.emplace(*address, settings_.state_dir);
      if (const auto why = control_->load()) streams_.err << "damper: " << *why << '\n';
      const std::optional<std::string> copy = control_->good_policy();
      if (!control_->read_first(kFirstRead)) {
        streams_.err << "damper: " << settings_.control << " does not answer: starting with "
                     << (copy ? "the copy in " + settings_.state_dir : name) << '\n';
      }
      const std::optional<std::string>& policy = control_->fleet().policy;
      if (policy) out.push_back({*policy, settings_.control, true});
      if (copy && copy != policy) out.push_back({*copy, settings_.state_dir, true});
    }
    out.push_back({*std::move(text), name});
    return out;
  }

  // The proxy, and the socket of its admin pages. One sentence: why not, and nothing has changed.
  [[nodiscard]] std::optional<std::string> try_start(const Choice& choice,
                                                     const std::vector<ListenFd>& sockets,
                                                     const SocketSource& source) {
    const auto config = make_proxy_config(settings_, choice.text, choice.name);
    if (!config) return config.error();
    const SocketMatch match = match_sockets(*config, sockets, source);
    if (auto why = find_taken(*config, match)) return why;
    // Before the proxy: one that serves and then ends would lose what it has accepted.
    if (auto why = bind_admin(*config, match.admin)) return why;
    auto proxy = proxy::Proxy::start(*config, {.inherited = match.listeners, .events = &feed_});
    if (!proxy) {
      admin_socket_.reset();
      return proxy.error();
    }
    proxy_ = *std::move(proxy);
    for (const char* key : {"proxy", "everything"}) counts_.expect(key);
    for (const proxy::RouteConfig& route : config->routes) counts_.expect(route.name);
    counted_ = counts_.show_in(proxy_->registry());
    for (const policy::Note& note : config->notes) {
      streams_.err << policy::to_string(note) << '\n';
    }
    // The proxy has closed those that are its listeners'.
    for (const ListenFd& socket : match.nobodys) {
      streams_.err << "damper: no listener is called " << socket.name << " or listens on "
                   << proxy::place_of(socket.bound.address, socket.bound.port)
                   << ": that socket of LISTEN_FDS is closed\n";
      close(socket.fd);
    }
    if (match.admin) close(*match.admin);  // There is a duplicate.
    reloads_.emplace(settings_, *proxy_, feed_, choice.text);
    of_fleet_ = choice.of_fleet;
    if (of_fleet_) control_->on_good_policy(choice.text);
    return std::nullopt;
  }

  // Once, at the start: a reload keeps its sockets, and another process gives us its own.
  [[nodiscard]] static std::optional<std::string> find_taken(const proxy::ProxyConfig& config,
                                                             const SocketMatch& match) {
    const auto taken = [](const std::string& address, std::uint16_t port, const char* hint) {
      return is_taken({address, port})
                 ? std::optional("cannot listen on " + proxy::place_of(address, port) +
                                 ": another process does; " + hint)
                 : std::nullopt;
    };
    for (const proxy::ListenerConfig& listener : config.listeners) {
      const bool given =
          std::any_of(match.listeners.begin(), match.listeners.end(),
                      [&](const auto& one) { return one.listener == listener.name; });
      if (given) continue;
      if (auto why = taken(listener.address, listener.port, "end that, or choose another port")) {
        return why;
      }
    }
    if (!config.admin || match.admin) return std::nullopt;
    return taken(config.admin->address, config.admin->port,
                 "choose another place for the admin pages with --admin ADDRESS:PORT, or off");
  }

  void start_control() {
    if (!control_) return;
    reloads_->on_fleet_at_start(control_->fleet().policy, of_fleet_);
    fleet_.emplace(
        [this](const std::string& text) { return reloads_->use_fleet(text); },
        [this](std::string_view scope, admit::Switch which, const admit::SwitchSetting& setting) {
          return proxy_->flip(scope, which, setting);
        },
        feed_);
    control_->start(*fleet_, feed_, proxy_->registry());
  }

  // Bound here, so that the process that replaces this one can be given it.
  [[nodiscard]] std::optional<std::string> bind_admin(const proxy::ProxyConfig& config,
                                                      std::optional<int> inherited) {
    if (!config.admin) return std::nullopt;
    const auto hint = [](const std::string& why) {
      return "admin: " + why + "; choose another place with --admin ADDRESS:PORT, or --admin off";
    };
    if (auto why = proxy::find_error(proxy::admin_options(*config.admin))) return hint(*why);
    auto sockets = inherited
                       ? proxy::ListenerSockets::adopt({*inherited}, 1)
                       : proxy::ListenerSockets::bind(config.admin->address, config.admin->port, 1);
    if (!sockets) return hint(sockets.error());
    if (auto why = sockets->listen()) return hint(*why);
    admin_socket_.emplace(*std::move(sockets));
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::string> start_admin() {
    if (!admin_socket_) return std::nullopt;
    const std::vector<int> taken = admin_socket_->take(0);
    administered_.emplace(*proxy_, [this]() -> std::optional<proxy::ReloadRefusal> {
      auto why = reloads_->reload_file(ProxyReloads::When::always);
      if (!why) return std::nullopt;
      return proxy::ReloadRefusal{.sentence = *std::move(why), .conflict = settings_.file.empty()};
    });
    proxy::AdminOptions options = proxy::admin_options(*proxy_->config()->admin);
    options.adopt_fd = taken.front();
    auto admin = proxy::AdminServer::start(options, *administered_, feed_);
    if (!admin) return admin.error();
    admin_ = *std::move(admin);
    return std::nullopt;
  }

  void say_started(const proxy::ProxyConfig& config) {
    std::vector<std::uint16_t> ports;
    ports.reserve(config.listeners.size());
    for (const auto& listener : config.listeners) ports.push_back(proxy_->port(listener.name));
    std::optional<std::uint16_t> admin_port;
    if (admin_socket_) admin_port = admin_socket_->port();
    streams_.err << "damper proxy, process " << getpid() << ": " << count_parts(config) << '\n'
                 << describe_start(config, ports, admin_port) << std::flush;
    notify_.ready(count_parts(config));
    if (ready_fd_) say_ready(*ready_fd_);
    if (const auto every = notify_.watchdog_every()) watchdog_due_ = add(run::now(), *every);
  }

  [[nodiscard]] int wait_ms() const {
    Instant due = std::min({watchdog_due_, successor_due_, kNever});
    if (watch_ && !drainer_.joinable()) due = std::min(due, watch_->due());
    if (due == kNever) return -1;
    const Duration wait = std::max(between(run::now(), due), Duration{0});
    return static_cast<int>(
        std::min<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(wait).count(), 60'000));
  }

  void on_time(Instant now) {
    if (watch_ && !drainer_.joinable() && watch_->due() <= now) {
      watch_->on_look();
      (void)reloads_->reload_file(ProxyReloads::When::if_changed);
    }
    if (successor_due_ <= now) on_successor(Successor::State::failed);
    if (watchdog_due_ <= now) {
      notify_.alive();
      watchdog_due_ = add(now, *notify_.watchdog_every());
    }
  }

  void on_signals(SignalFd& signals) {
    while (const int signal = signals.next()) {
      if (signal == SIGHUP && !drainer_.joinable()) reload();
      if (signal == SIGUSR2 && !drainer_.joinable() && !successor_) upgrade(signals);
      if (signal == SIGTERM || signal == SIGINT) on_told_to_end();
    }
  }

  void on_told_to_end() {
    if (told_) {  // What is under way is given up.
      if (successor_) successor_->kill_now();
      _exit(kInterrupted);
    }
    told_ = true;
    if (successor_) {  // One that starts would be left behind, and serve.
      successor_->ask_to_end();
      successor_due_ = kNever;
      on_upgrade_failed("this process was told to end, and the new one with it");
    }
    if (!drainer_.joinable()) drain();
  }

  // It was told to end, too, and may have accepted something.
  void wait_for_successor(SignalFd& signals) {
    const Instant until = add(run::now(), proxy_->config()->drain_time);
    while (!successor_->has_ended() && run::now() < until) {
      pollfd wait{.fd = signals.fd(), .events = POLLIN, .revents = 0};
      if (poll(&wait, 1, 10) > 0) on_signals(signals);
    }
    (void)successor_->end();
  }

  void reload() {
    notify_.reloading(run::now());
    (void)reloads_->reload_file(ProxyReloads::When::always);  // It says why not, if not.
    notify_.ready(count_parts(*proxy_->config()));
  }

  void drain() {
    const Duration within = proxy_->config()->drain_time;
    feed_.on_event({.kind = EventKind::draining,
                    .key = "proxy",
                    .at = run::now(),
                    .length = within,
                    .detail = {}});
    if (!handed_over_) notify_.stopping("draining");  // The service goes on with the new one.
    drainer_ = std::thread([this, within] {
      proxy_->drain(within);
      const std::uint64_t one = 1;
      (void)!write(drained_fd_, &one, sizeof one);
    });
  }

  void upgrade(const SignalFd& signals) {
    SuccessorPlan plan{.command = command_, .sockets = {}, .signals = signals.mask_before()};
    const std::vector<proxy::InheritedSocket> sockets = proxy_->sockets();
    for (const auto& socket : sockets) plan.sockets.emplace_back(socket.listener, socket.fd);
    Handover handover = handover_of(proxy_->state().scopes, sockets);
    if (fleet_) {
      std::erase_if(handover.switches,
                    [this](const proxy::SwitchOrder& order) { return fleet_->has_flipped(order); });
    }
    plan.message = print_handover(handover);
    if (admin_socket_) {
      plan.sockets.emplace_back(std::string(kAdminSocket), admin_socket_->fds().front());
    }
    auto successor = Successor::start(plan);
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
    control_.reset();  // The new one keeps the fleet's copy from now on.
    if (notify_.watchdog_every()) notify_.alive();  // The new one was not heard until now.
    notify_.main_pid(pid);
    handed_over_ = true;
    watchdog_due_ = kNever;
    feed_.on_event({.kind = EventKind::upgraded,
                    .key = "proxy",
                    .at = run::now(),
                    .count = pid,
                    .detail = {}});
    admin_.reset();  // The new one has the socket.
    admin_socket_.reset();
    if (!drainer_.joinable()) drain();
  }

  void on_upgrade_failed(const std::string& why) {
    feed_.on_event(
        {.kind = EventKind::upgrade_failed, .key = "proxy", .at = run::now(), .detail = why});
  }

  const ProxySettings& settings_;
  const Streams& streams_;
  OwnCommand command_;
  std::optional<int> ready_fd_;
  ServiceNotify notify_;
  observe::TransitionLog log_;
  observe::EventCounts counts_;
  proxy::EventFeed feed_;
  std::unique_ptr<proxy::Proxy> proxy_;
  observe::Registry::Collection counted_;
  std::optional<ProxyReloads> reloads_;
  std::optional<proxy::ListenerSockets> admin_socket_;
  std::optional<proxy::AdministeredProxy> administered_;
  std::unique_ptr<proxy::AdminServer> admin_;
  std::optional<ProxyFleet> fleet_;
  std::optional<proxy::FleetControl> control_;
  bool of_fleet_ = false;  // it started with the fleet's policy
  std::optional<FileWatch> watch_;
  std::optional<Successor> successor_;
  Instant successor_due_ = kNever;
  Instant watchdog_due_ = kNever;
  std::thread drainer_;
  int drained_fd_ = -1;
  bool handed_over_ = false;  // another process serves; this one drains
  bool told_ = false;         // to end, by a signal
  bool ended_ = false;
};

// A proxy has two descriptors for each request under way; shells give 1024.
void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int run_proxy(const ProxySettings& settings, const Streams& streams) {
  std::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  try {
    SignalFd signals({SIGHUP, SIGTERM, SIGINT, SIGUSR2});
    ProxyRun run(settings, streams);
    if (const auto why = run.start()) {
      streams.err << "damper: " << *why << '\n';
      return kTrouble;
    }
    return run.run(signals);
  } catch (const std::system_error& error) {
    streams.err << "damper: the proxy cannot run: " << error.what() << '\n';
    return kTrouble;
  }
}

}  // namespace damper::cli
