#include "damper/cli/ctl/ctl_status.h"

#include <algorithm>
#include <ostream>
#include <tuple>
#include <utility>

#include "damper/base/text/plain_text.h"
#include "damper/cli/ctl/ctl_table.h"
#include "damper/lab/runs/interval.h"

namespace damper::cli {
namespace {

using proxy::ProxyState;
using proxy::ReplicaState;
using proxy::RouteState;
using text::Ink;
using text::with_commas;
using Side = Table::Side;

// Under this a budget is as good as empty.
constexpr double kLowBudget = 0.1;
// Under this a route's success is worth a look.
constexpr double kGoodSuccess = 0.99;

std::string count(std::uint64_t number) { return with_commas(static_cast<std::int64_t>(number)); }

Table::Cell breaker_cell(const RouteState& route) {
  if (!route.has_breaker) return {"-", Ink::faint};
  if (route.breaker == admit::BreakerState::closed) return {"closed", Ink::good};
  return {std::string(admit::name(route.breaker)),
          route.breaker == admit::BreakerState::open ? Ink::alarm : Ink::warning};
}

Table::Cell budget_cell(double fill) {
  return {share_text(fill), fill < kLowBudget ? Ink::alarm : Ink::calm};
}

std::string plural(std::size_t number, std::string_view one, std::string_view many) {
  return std::to_string(number) + ' ' + std::string(number == 1 ? one : many);
}

struct Trouble {
  std::size_t open = 0, ejected = 0, unhealthy = 0, ignored = 0, off = 0, spent_routes = 0,
              spent_clusters = 0;
};

Trouble find_trouble(const ProxyState& state) {
  Trouble trouble;
  for (const RouteState& route : state.routes) {
    if (route.has_breaker && route.breaker != admit::BreakerState::closed) ++trouble.open;
    if (route.budget.fill < kLowBudget) ++trouble.spent_routes;
  }
  for (const auto& cluster : state.clusters) {
    if (cluster.budget.fill < kLowBudget) ++trouble.spent_clusters;
    if (cluster.checks_ignored) ++trouble.ignored;
    for (const ReplicaState& replica : cluster.replicas) {
      trouble.ejected += replica.ejected_on > 0;
      trouble.unhealthy += replica.health == "unhealthy";
    }
  }
  for (const auto& scope : state.scopes) {
    for (const auto& status : scope.switches) trouble.off += status.off;
  }
  return trouble;
}

void print_routes(std::ostream& out, const Snapshots& snapshots, text::ReportStyle style) {
  Table table({{"route", Side::left},
               {"cluster", Side::left},
               {"req/s"},
               {"success"},
               {"final"},
               {"tries/req"},
               {"budget"},
               {"breaker", Side::left},
               {"limit"},
               {"queue"},
               {"throttle"},
               {"p99"},
               {"total"},
               {"total ok"}});
  const double seconds = std::max(std::chrono::duration<double>(snapshots.apart).count(), 1e-3);
  const auto success_cell = [](const engine::Tally& tally) -> Table::Cell {
    if (tally.finished <= final_answers(tally)) return {"-"};
    const double share = success_share(tally);
    return {share_text(share), share < kGoodSuccess ? Ink::alarm : Ink::calm};
  };
  for (const RouteChange& change :
       worst_first(changes_between(snapshots.before, snapshots.after))) {
    const RouteState& route = *change.now;
    const engine::Tally& tally = change.tally;
    const std::uint64_t final = final_answers(tally);
    table.add(
        {{route.name, badness(change) > 0 ? Ink::strong : Ink::calm},
         {route.cluster},
         {text::for_people(static_cast<double>(tally.started) / seconds)},
         success_cell(tally),
         {final > 0 ? share_text(share_of(final, tally.finished)) : "-"},
         {tally.started > 0 ? text::fixed_text(share_of(tally.attempts, tally.started), 2) : "-"},
         budget_cell(route.budget.fill),
         breaker_cell(route),
         {route.has_limit ? std::to_string(route.in_flight) + '/' + std::to_string(route.limit)
                          : "-"},
         {std::to_string(route.queued), route.queued > 0 ? Ink::warning : Ink::calm},
         {route.throttle > 0 ? share_text(route.throttle) : "-",
          route.throttle > 0 ? Ink::warning : Ink::calm},
         {rough(route.p99)},
         {count(route.tally.started)},
         {success_cell(route.tally).text, Ink::faint}});
  }
  out << "\nroutes, over the last " << rough(snapshots.apart) << " (total: since the start)\n";
  table.print(out, style);
}

void print_clusters(std::ostream& out, const ProxyState& state, text::ReportStyle style) {
  Table clusters({{"cluster", Side::left}, {"budget"}, {"replicas in use"}});
  clusters.add({{"(the process)", Ink::faint}, budget_cell(state.budget.fill), {"-"}});
  for (const auto& cluster : state.clusters) {
    const auto up = std::count_if(
        cluster.replicas.begin(), cluster.replicas.end(), [&](const ReplicaState& one) {
          return one.ejected_on == 0 && (one.health != "unhealthy" || cluster.checks_ignored);
        });
    const auto all = static_cast<std::ptrdiff_t>(cluster.replicas.size());
    clusters.add({{cluster.name},
                  budget_cell(cluster.budget.fill),
                  {std::to_string(up) + " of " + std::to_string(all),
                   up < all || all == 0 ? Ink::alarm : Ink::calm}});
  }
  clusters.print(out, style);
}

}  // namespace

std::string scope_text(const proxy::SwitchScope& scope) {
  if (scope.kind == proxy::SwitchScope::Kind::process) return "the process";
  return std::string(proxy::kScopeKindNames[scope.kind]) + ' ' + text::printable(scope.name, 200);
}

std::string breaker_text(const proxy::SwitchScope& scope, const std::string& replica) {
  return (replica.empty() ? "" : "replica " + text::printable(replica, 200) + " of ") +
         scope_text(scope);
}

double badness(const RouteChange& change) {
  const RouteState& route = *change.now;
  double bad = 10 * (1 - success_share(change.tally)) + route.throttle;
  if (route.has_breaker && route.breaker == admit::BreakerState::open) bad += 4;
  if (route.has_breaker && route.breaker == admit::BreakerState::half_open) bad += 2;
  if (route.budget.fill < kLowBudget) bad += 1;
  if (route.queued > 0) bad += 0.5;
  return bad;
}

std::vector<RouteChange> worst_first(std::vector<RouteChange> routes) {
  std::stable_sort(routes.begin(), routes.end(), [](const RouteChange& a, const RouteChange& b) {
    return badness(a) > badness(b);
  });
  return routes;
}

void print_summary(std::ostream& out, const ProxyState& state, text::ReportStyle style) {
  const text::Painter paint(style);
  out << "policy version " << state.version << ", up " << rough(state.up) << ", "
      << plural(state.loops, "loop", "loops") << ", "
      << plural(state.requests_under_way, "request", "requests") << " under way\n";
  const Trouble trouble = find_trouble(state);
  std::string wrong;
  const auto add = [&wrong](const std::string& text) {
    wrong += (wrong.empty() ? "" : ", ") + text;
  };
  if (state.draining) add("it is draining");
  if (state.answered < state.loops) {
    add("only " + std::to_string(state.answered) + " of " + std::to_string(state.loops) +
        " loops answered: the rest is stuck, and missing below");
  }
  if (trouble.off > 0) add(plural(trouble.off, "switch is off", "switches are off"));
  if (!state.forced.empty()) {
    add(plural(state.forced.size(), "breaker is forced", "breakers are forced"));
  }
  if (trouble.open > 0)
    add(plural(trouble.open, "breaker is not closed", "breakers are not closed"));
  if (trouble.ejected > 0)
    add(plural(trouble.ejected, "replica is ejected", "replicas are ejected"));
  if (trouble.unhealthy > 0)
    add(plural(trouble.unhealthy, "replica is unhealthy", "replicas are unhealthy"));
  if (trouble.ignored > 0) {
    add("health checks of " + plural(trouble.ignored, "cluster", "clusters") +
        " are ignored: too few replicas pass");
  }
  std::string spent;
  const auto add_spent = [&spent](const std::string& whose) {
    spent += (spent.empty() ? "spent budgets: " : " and ") + whose;
  };
  if (state.budget.fill < kLowBudget) add_spent("the process");
  if (trouble.spent_clusters > 0) add_spent(plural(trouble.spent_clusters, "cluster", "clusters"));
  if (trouble.spent_routes > 0) add_spent(plural(trouble.spent_routes, "route", "routes"));
  if (!spent.empty()) add(spent);
  out << (wrong.empty() ? paint(Ink::good, "nothing is open, ejected, spent or switched off")
                        : paint(Ink::alarm, wrong))
      << '\n';
}

std::size_t print_switches(std::ostream& out, const std::vector<proxy::ScopeState>& scopes,
                           text::ReportStyle style) {
  const text::Painter paint(style);
  std::size_t off = 0;
  for (const auto& scope : scopes) {
    for (std::size_t i = 0; i < scope.switches.size(); ++i) {
      const admit::SwitchStatus& status = scope.switches[i];
      if (!status.off) continue;
      ++off;
      out << "  " << paint(Ink::alarm, "OFF") << "  " << admit::kSwitchNames[i] << " of "
          << scope_text(scope.scope) << ", "
          << (status.remaining == kForever ? std::string("until it is turned on")
                                           : "for another " + rough(status.remaining))
          << ": " << text::printable(status.reason, 200) << '\n';
    }
  }
  return off;
}

void print_forced(std::ostream& out, const std::vector<proxy::ForcedBreaker>& forced,
                  text::ReportStyle style) {
  const text::Painter paint(style);
  for (const proxy::ForcedBreaker& one : forced) {
    const bool open = one.status.force == admit::BreakerForce::open;
    out << "  " << paint(Ink::alarm, open ? "FORCED OPEN" : "FORCED CLOSED") << "  breaker of "
        << breaker_text(one.scope, one.replica);
    if (one.has_own) out << " (by itself " << name(one.status.own) << ')';
    out << ", for another " << rough(one.status.remaining) << ": "
        << text::printable(one.status.reason, 200) << '\n';
  }
}

void print_replicas(std::ostream& out, const ProxyState& state, text::ReportStyle style,
                    std::size_t most) {
  struct Row {
    const proxy::ClusterState* cluster;
    const ReplicaState* replica;
  };
  std::vector<Row> rows;
  for (const auto& cluster : state.clusters) {
    for (const ReplicaState& replica : cluster.replicas) rows.push_back({&cluster, &replica});
  }
  const auto rank = [](const Row& row) {
    return std::tuple(row.replica->health == "unhealthy", row.replica->ejected_on,
                      row.replica->waiting);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return rank(a) != rank(b) ? rank(a) > rank(b) : a.replica->latency > b.replica->latency;
  });
  Table table({{"replica", Side::left},
               {"cluster", Side::left},
               {"state", Side::left},
               {"latency"},
               {"asked now"},
               {"connections"},
               {"idle"},
               {"waiting"}});
  for (const auto& [cluster, replica] : rows) {
    const bool unhealthy = replica->health == "unhealthy";
    const bool up = replica->ejected_on == 0 && !unhealthy;
    std::string state_text = "in use";
    if (replica->ejected_on > 0) {
      state_text = "ejected on " + std::to_string(replica->ejected_on) + " of " +
                   std::to_string(state.loops);
    }
    if (unhealthy) {
      state_text = (cluster->checks_ignored ? "unhealthy (ignored): " : "unhealthy: ") +
                   text::printable(replica->health_reason, 40);
    }
    table.add(
        {{replica->endpoint, up ? Ink::calm : Ink::strong},
         {cluster->name},
         {state_text, up ? Ink::good : Ink::alarm},
         {rough(replica->latency)},
         {std::to_string(replica->outstanding)},
         {std::to_string(replica->connections)},
         {std::to_string(replica->idle)},
         {std::to_string(replica->waiting), replica->waiting > 0 ? Ink::warning : Ink::calm}});
  }
  if (table.empty()) return;
  out << '\n';
  table.print(out, style, most);
}

void print_status(std::ostream& out, const Snapshots& snapshots, text::ReportStyle style) {
  const ProxyState& state = snapshots.after;
  print_summary(out, state, style);
  print_switches(out, state.scopes, style);
  print_forced(out, state.forced, style);
  print_routes(out, snapshots, style);
  out << '\n';
  print_clusters(out, state, style);
  print_replicas(out, state, style);
  out << '\n';
  Table listeners({{"listener", Side::left}, {"address", Side::left}, {"connections"}});
  for (const auto& listener : state.listeners) {
    const bool v6 = listener.address.find(':') != std::string::npos;
    listeners.add({{listener.name},
                   {(listener.tls ? "https://" : "http://") +
                    (v6 ? '[' + listener.address + ']' : listener.address) + ':' +
                    std::to_string(listener.port)},
                   {count(listener.connections)}});
  }
  listeners.print(out, style);
}

void print_breakers(std::ostream& out, const ProxyState& state, text::ReportStyle style) {
  print_forced(out, state.forced, style);
  Table table(
      {{"route", Side::left}, {"cluster", Side::left}, {"breaker", Side::left}, {"refused"}});
  for (const RouteChange& change : worst_first(changes_between(state, state))) {
    const RouteState& route = *change.now;
    if (!route.has_breaker) continue;
    table.add({{route.name},
               {route.cluster},
               breaker_cell(route),
               {count(route.tally.of(Verdict::breaker_open))}});
  }
  if (table.empty()) {
    out << "no route has a breaker\n";
  } else {
    table.print(out, style);
  }
  print_replicas(out, state, style);
}

}  // namespace damper::cli
