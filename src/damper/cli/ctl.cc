#include "damper/cli/commands.h"

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "damper/base/duration_text.h"
#include "damper/base/text/json_reader.h"
#include "damper/base/text/plain_text.h"
#include "damper/base/text/words.h"
#include "damper/cli/ctl/ctl_events.h"
#include "damper/cli/ctl/ctl_snapshots.h"
#include "damper/cli/ctl/ctl_status.h"
#include "damper/cli/ctl/ctl_top.h"
#include "damper/cli/terminal.h"
#include "damper/proxy/admin/admin_client.h"
#include "damper/proxy/admin/orders.h"
#include "damper/proxy/admin/state_json.h"

namespace damper::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  damper ctl status                               problems, routes and replicas, worst first
  damper ctl switches                             what is switched off, why and for how long
  damper ctl top                                  live rates; q quits
  damper ctl retries off --reason "db failover" --for 30m
  damper ctl retries off --route checkout --reason "INC-42"
  damper ctl retries on --route checkout
  damper ctl hedging off --cluster payments --reason "cost"
  damper ctl breakers                             breakers of routes, and ejected replicas
  damper ctl breaker open --route checkout --reason "db failover" --for 10m
  damper ctl breaker open --cluster payments --replica 10.0.0.7:80 --reason "bad disk"
  damper ctl breaker reset --route checkout
  damper ctl reload                               reload the file; an invalid one changes nothing
  damper ctl policy                               the policy in force, with all defaults
  damper ctl events --follow                      print events as they happen
  damper ctl --admin http://10.0.0.7:9901 --token-file /etc/damper/token reload

Exit status: 0 done, 1 the proxy refused, 2 no answer or an invalid option.
)";

constexpr std::array<std::string_view, 2> kPositions = {"off", "on"};
constexpr std::array<std::string_view, 3> kForces = {"open", "close", "reset"};
constexpr const char* kShared =
    "Also accepts --admin URL, --token-file FILE and --json: see damper ctl --help.\n";

// An empty name is an unset variable of a script, and would widen the scope.
std::string not_empty(const std::string& value) { return value.empty() ? "must not be empty" : ""; }

// The options of all subcommands.
struct Options {
  std::string admin = "http://127.0.0.1:9901";
  std::string token_file;
  bool json = false;
  std::string position;  // of a switch: on or off; of a breaker: one of kForces
  std::string route;
  std::string cluster;
  std::string replica;
  std::string reason;
  std::string length;
  std::string interval = "1s";
  bool once = false;
  bool since_start = false;
  bool follow = false;
};
using OptionsPtr = std::shared_ptr<Options>;

int fail(const proxy::AdminClientError& error, const text::Stdio& streams) {
  streams.err << "damper: " << error.sentence << '\n';
  return error.status;
}
int fail(const std::string& sentence, const text::Stdio& streams) {
  return fail(proxy::AdminClientError{sentence, kTrouble}, streams);
}

// Prints the body of a page as it is.
int print_page(proxy::AdminClient& client, const std::string& target, const text::Stdio& streams) {
  const auto text = client.get(target);
  if (!text) return fail(text.error(), streams);
  streams.out << *text;
  return kOk;
}

Expected<Duration> interval_of(const Options& options) {
  const auto interval = parse_duration(options.interval);
  if (!interval) return unexpected("--interval: " + interval.error());
  if (*interval < std::chrono::milliseconds(50) || *interval > std::chrono::minutes(1)) {
    return unexpected("--interval is " + options.interval + "; it must be from 50ms to 1m");
  }
  return *interval;
}

int status_page(proxy::AdminClient& client, const Options& options, const text::Stdio& streams) {
  const auto interval = interval_of(options);
  if (!interval) return fail(interval.error(), streams);
  if (options.json) return print_page(client, "/state", streams);
  const auto snapshots =
      options.since_start ? snapshots_since_start(client) : take_snapshots(client, *interval);
  if (!snapshots) return fail(snapshots.error(), streams);
  print_status(streams.out, *snapshots, {.colour = wants_colour(streams.out)});
  return kOk;
}

int breakers(proxy::AdminClient& client, const Options& options, const text::Stdio& streams) {
  if (options.json) return print_page(client, "/state", streams);
  const auto now = take_snapshot(client);
  if (!now) return fail(now.error(), streams);
  print_breakers(streams.out, now->state, {.colour = wants_colour(streams.out)});
  return kOk;
}

// Reads /switches only: unlike /state it does not wait for a stuck loop.
int switches(proxy::AdminClient& client, const Options& options, const text::Stdio& streams) {
  if (options.json) return print_page(client, "/switches", streams);
  const auto text = client.get("/switches");
  if (!text) return fail(text.error(), streams);
  const auto scopes = proxy::parse_switches(*text);
  if (!scopes) return fail(client.where() + " answered, but " + scopes.error(), streams);
  if (print_switches(streams.out, *scopes, {.colour = wants_colour(streams.out)}) == 0) {
    streams.out << "nothing is switched off\n";
  }
  return kOk;
}

// A sentence with a suggestion and the known names if the proxy has no such route or cluster.
std::optional<std::string> find_missing_scope(proxy::AdminClient& client,
                                              const proxy::SwitchScope& scope) {
  if (scope.kind == proxy::SwitchScope::Kind::process) return std::nullopt;
  const auto text = client.get("/switches");
  if (!text) return std::nullopt;
  const auto scopes = proxy::parse_switches(*text);
  if (!scopes) return std::nullopt;
  std::vector<std::string_view> names;
  for (const proxy::ScopeState& known : *scopes) {
    if (known.scope == scope) return std::nullopt;
    if (known.scope.kind == scope.kind) names.push_back(known.scope.name);
  }
  return "there is no " + std::string(proxy::kScopeKindNames[scope.kind]) + ' ' +
         text::in_quotes(scope.name) + text::suggestion(scope.name, names) +
         " (there are: " + text::on_one_line(text::joined(names)) + ")";
}

// Fills in what orders for switches and for breakers have in common. One sentence: an option is
// invalid.
template <class Order>
std::optional<std::string> read_options(const Options& options, Order& order) {
  order.reason = options.reason;
  if (!options.route.empty()) order.scope = proxy::SwitchScope::route(options.route);
  if (!options.cluster.empty()) order.scope = proxy::SwitchScope::cluster(options.cluster);
  if (!options.length.empty()) {
    const auto length = parse_duration(options.length);
    if (!length) return "--for: " + length.error();
    order.length = *length;
  }
  if (!options.route.empty() && !options.cluster.empty()) {
    return "--route and --cluster exclude each other";
  }
  return std::nullopt;
}

std::string missing_reason(const Options& options) {
  return options.position + " needs a reason for the next person on duty: --reason \"...\"";
}

// The answer to an order, or the proxy's refusal, with the known names if there is no such scope.
Expected<std::string, proxy::AdminClientError> put_order(proxy::AdminClient& client,
                                                         const std::string& page,
                                                         const proxy::SwitchScope& scope,
                                                         const std::string& json) {
  auto answer = client.put(page, json);
  if (answer) return answer;
  if (const auto missing = find_missing_scope(client, scope)) {
    return unexpected(proxy::AdminClientError{*missing, proxy::kRefused});
  }
  return answer;
}

int flip(proxy::AdminClient& client, const Options& options, admit::Switch which,
         const text::Stdio& streams) {
  proxy::SwitchOrder order;
  order.which = which;
  order.off = options.position == "off";
  if (const auto error = read_options(options, order)) return fail(*error, streams);
  if (order.off && order.reason.empty()) return fail(missing_reason(options), streams);
  const std::string json = proxy::print_order(order);
  if (const auto checked = proxy::parse_switch_order(json); !checked) {
    return fail(checked.error(), streams);
  }
  const auto answer = put_order(client, "/switches", order.scope, json);
  if (!answer) return fail(answer.error(), streams);
  if (options.json) {
    streams.out << *answer;
    return kOk;
  }
  streams.out << admit::name(which) << " of " << scope_text(order.scope) << ": "
              << options.position;
  if (order.off) {
    streams.out << (order.length ? ", for " + format_duration(*order.length)
                                 : std::string(", until it is turned on"))
                << ": " << text::printable(order.reason);
  }
  streams.out << '\n';
  return kOk;
}

int force(proxy::AdminClient& client, const Options& options, const text::Stdio& streams) {
  using admit::BreakerForce;
  proxy::BreakerOrder order;
  if (options.position == "open") order.force = BreakerForce::open;
  if (options.position == "close") order.force = BreakerForce::closed;
  order.replica = options.replica;
  if (const auto error = read_options(options, order)) return fail(*error, streams);
  if (order.scope == proxy::SwitchScope{}) {
    return fail("breaker needs --route NAME or --cluster NAME", streams);
  }
  if (!order.replica.empty() && options.cluster.empty()) {
    return fail("--replica needs --cluster NAME", streams);
  }
  const bool forced = order.force != BreakerForce::none;
  if (forced && order.reason.empty()) return fail(missing_reason(options), streams);
  const std::string json = proxy::print_breaker_order(order);
  if (const auto checked = proxy::parse_breaker_order(json); !checked) {
    return fail(checked.error(), streams);
  }
  const auto answer = put_order(client, "/breakers", order.scope, json);
  if (!answer) return fail(answer.error(), streams);
  if (options.json) {
    streams.out << *answer;
    return kOk;
  }
  streams.out << "breaker of " << breaker_text(order.scope, order.replica) << ": ";
  if (forced) {
    streams.out << "forced " << admit::name(order.force) << ", for "
                << format_duration(order.setting().bounded()) << ": "
                << text::printable(order.reason) << '\n';
  } else {
    streams.out << "reset\n";
  }
  return kOk;
}

int reload(proxy::AdminClient& client, const Options& options, const text::Stdio& streams) {
  const auto answer = client.post("/reload");
  if (!answer) return fail(answer.error(), streams);
  if (options.json) {
    streams.out << *answer;
    return kOk;
  }
  const auto read = text::read_json(*answer);
  const text::JsonValue* const version = read ? read->find("version") : nullptr;
  streams.out << "reloaded: policy version " << (version != nullptr ? version->text : "unknown")
              << '\n';
  return kOk;
}

int policy(proxy::AdminClient& client, const Options& /*options*/, const text::Stdio& streams) {
  return print_page(client, "/policy", streams);
}

int top(proxy::AdminClient& client, const Options& options, const text::Stdio& streams) {
  const auto interval = interval_of(options);
  if (!interval) return fail(interval.error(), streams);
  if (options.json) return print_page(client, "/state", streams);
  return run_top(client, {.interval = *interval, .once = options.once}, streams);
}

// Runs a subcommand with a client.
template <class Run>
std::function<void()> with_client(OptionsPtr options, const text::Stdio& streams, int& status,
                                  Run run) {
  return [options = std::move(options), streams, &status, run] {
    auto client = proxy::AdminClient::open(options->admin, options->token_file);
    status = client ? run(*client, *options, streams) : fail(client.error(), streams);
  };
}

void add_name(CLI::App& command, const std::string& option, std::string& value,
              const std::string& doc) {
  command.add_option(option, value, doc)->type_name("NAME")->check(not_empty);
}

// --for and --reason of a change that the duty has to see.
void add_hold(CLI::App& command, const OptionsPtr& options, const std::string& length,
              const std::string& reasoned) {
  command.add_option("--for", options->length, length)->type_name("DURATION");
  command
      .add_option("--reason", options->reason,
                  "The reason, shown to the next person on duty; required with " + reasoned + ".")
      ->type_name("TEXT");
}

void add_switch(CLI::App& ctl, const OptionsPtr& options, admit::Switch which,
                const text::Stdio& streams, int& status) {
  const std::string word(admit::name(which));
  CLI::App* command = ctl.add_subcommand(
      word, "Switch " + word + " off or on for the process, a cluster or a route.");
  command->footer("Examples:\n  damper ctl " + word +
                  " off --reason \"db failover\" --for 30m\n  damper ctl " + word +
                  " off --route checkout --reason \"INC-42\"\n  damper ctl " + word +
                  " on --route checkout\n\n" + kShared);
  command->add_option("position", options->position, "The new position.")
      ->type_name("off|on")
      ->required()
      ->check(one_of(kPositions));
  add_name(*command, "--route", options->route, "Only for this route.");
  add_name(*command, "--cluster", options->cluster, "Only for the routes of this cluster.");
  add_hold(*command, options, "Switch on again after this time, such as 30m (default: stay off).",
           "off");
  command->callback(
      with_client(options, streams, status,
                  [which](proxy::AdminClient& client, const Options& given, const text::Stdio& to) {
                    return flip(client, given, which, to);
                  }));
}

void add_breaker(CLI::App& ctl, const OptionsPtr& options, const text::Stdio& streams,
                 int& status) {
  CLI::App* command = ctl.add_subcommand(
      "breaker", "Force breakers open (refuse all) or closed (admit all), or reset them.");
  command->footer(
      std::string(
          "Examples:\n"
          "  damper ctl breaker open --route checkout --reason \"db failover\"\n"
          "  damper ctl breaker close --cluster payments --reason \"false alarm\" --for 1h\n"
          "  damper ctl breaker open --cluster payments --replica 10.0.0.7:80 "
          "--reason \"bad disk\"\n"
          "  damper ctl breaker reset --route checkout\n\n") +
      kShared);
  command->add_option("state", options->position, "The state to hold; reset: automatic again.")
      ->type_name("open|close|reset")
      ->required()
      ->check(one_of(kForces));
  add_name(*command, "--route", options->route, "The breaker of this route.");
  add_name(*command, "--cluster", options->cluster, "The breakers of this cluster's routes.");
  command
      ->add_option("--replica", options->replica,
                   "With --cluster: this replica, on all loops, instead of the routes.")
      ->type_name("ADDRESS")
      ->check(not_empty);
  add_hold(*command, options, "Automatic again after this time, at most 24h (default: 10m).",
           "open and close");
  command->callback(with_client(options, streams, status, force));
}

void add_looks(CLI::App& ctl, const OptionsPtr& options, const text::Stdio& streams, int& status) {
  CLI::App* page =
      ctl.add_subcommand("status", "Show problems, switches, routes and replicas, worst first.");
  page->add_option("--interval", options->interval,
                   "Time between the two samples from which rates are computed.")
      ->type_name("DURATION")
      ->capture_default_str();
  page->add_flag("--since-start", options->since_start,
                 "Compute rates and shares since the start of the proxy, from one sample.");
  page->callback(with_client(options, streams, status, status_page));
  ctl.add_subcommand("breakers", "Show the breakers of routes, and ejected replicas.")
      ->callback(with_client(options, streams, status, breakers));
  ctl.add_subcommand("switches", "Show what is switched off, why and for how long.")
      ->callback(with_client(options, streams, status, switches));
  CLI::App* live = ctl.add_subcommand("top", "Live rates and requests in flight; q quits.");
  live->add_option("--interval", options->interval, "Time between samples.")
      ->type_name("DURATION")
      ->capture_default_str();
  live->add_flag("--once", options->once,
                 "Print one interval and exit (the default when stdout is not a terminal).");
  live->callback(with_client(options, streams, status, top));
  CLI::App* events = ctl.add_subcommand(
      "events", "Print the last 1000 events (breakers, budgets, switches, reloads), one per line.");
  events->add_flag("-f,--follow", options->follow, "Keep printing new events until ^C.");
  events->callback(
      with_client(options, streams, status,
                  [](proxy::AdminClient& client, const Options& given, const text::Stdio& to) {
                    return run_events(client, {.follow = given.follow, .json = given.json}, to);
                  }));
}

}  // namespace

void add_ctl(CLI::App& app, const text::Stdio& streams, int& status) {
  CLI::App* ctl = app.add_subcommand("ctl", "Show and control a running proxy.");
  ctl->require_subcommand(1);
  ctl->footer(kShared);  // Inherited by the subcommands; replaced below for ctl itself.
  ctl->fallthrough();    // --admin may also follow the subcommand.
  const auto options = std::make_shared<Options>();
  ctl->add_option("--admin", options->admin, "URL of the proxy's admin API.")
      ->type_name("URL")
      ->envname("DAMPER_ADMIN")
      ->capture_default_str();
  ctl->add_option("--token-file", options->token_file,
                  "File with the proxy's token; needed for changes if the proxy has one.")
      ->type_name("FILE")
      ->envname("DAMPER_TOKEN_FILE");
  ctl->add_flag("--json", options->json, "Print the proxy's JSON response.");
  add_looks(*ctl, options, streams, status);
  for (std::size_t i = 0; i < admit::kSwitchNames.size(); ++i) {
    add_switch(*ctl, options, static_cast<admit::Switch>(i), streams, status);
  }
  add_breaker(*ctl, options, streams, status);
  ctl->add_subcommand("reload", "Reload the configuration; an invalid one changes nothing.")
      ->callback(with_client(options, streams, status, reload));
  ctl->add_subcommand("policy", "Print the policy in force as YAML, with all defaults.")
      ->callback(with_client(options, streams, status, policy));
  ctl->footer(kExamples);
}

}  // namespace damper::cli
