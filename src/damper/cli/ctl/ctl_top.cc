#include "damper/cli/ctl/ctl_top.h"

#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <sstream>
#include <vector>

#include "damper/base/text/plain_text.h"
#include "damper/cli/ctl/ctl_screen.h"
#include "damper/cli/ctl/ctl_snapshots.h"
#include "damper/cli/ctl/ctl_status.h"
#include "damper/cli/ctl/ctl_table.h"
#include "damper/cli/terminal.h"
#include "damper/lab/runs/interval.h"
#include "damper/run/interrupt.h"

namespace damper::cli {
namespace {

using proxy::ProxyState;
using text::Ink;

constexpr std::size_t kRowsAround = 8;  // of the summary, titles and empty lines
constexpr double kGoodSuccess = 0.99;

int top_once(proxy::AdminClient& client, Duration interval, const text::Stdio& streams) {
  const auto snapshots = take_snapshots(client, interval);
  if (!snapshots) {
    streams.err << "damper: " << snapshots.error().sentence << '\n';
    return snapshots.error().status;
  }
  print_top(streams.out, snapshots->before, snapshots->after, snapshots->apart,
            {.colour = wants_colour(streams.out)}, 1'000'000);
  return kOk;
}

}  // namespace

void print_top(std::ostream& out, const ProxyState& before, const ProxyState& after, Duration apart,
               text::ReportStyle style, std::size_t rows) {
  const double seconds = std::max(std::chrono::duration<double>(apart).count(), 1e-3);
  std::vector<RouteChange> routes = changes_between(before, after);
  std::stable_sort(routes.begin(), routes.end(), [](const RouteChange& a, const RouteChange& b) {
    return a.tally.started > b.tally.started;
  });
  Table table({{"route", Table::Side::left},
               {"req/s"},
               {"success"},
               {"tries/req"},
               {"retries/s"},
               {"under way"},
               {"queue"},
               {"budget"},
               {"breaker", Table::Side::left},
               {"p50"},
               {"p99"}});
  const auto rate = [seconds](std::uint64_t count) {
    return text::for_people(static_cast<double>(count) / seconds);
  };
  for (const RouteChange& row : routes) {
    const engine::Tally& tally = row.tally;
    const double good = success_share(tally);
    const bool closed = row.now->breaker == admit::BreakerState::closed;
    const bool low = row.now->budget.fill < 0.1;
    table.add(
        {{row.now->name, badness(row) > 0 ? Ink::strong : Ink::calm},
         {rate(tally.started)},
         {tally.finished > final_answers(tally) ? share_text(good) : "-",
          good < kGoodSuccess ? Ink::alarm : Ink::calm},
         {tally.started > 0 ? text::fixed_text(share_of(tally.attempts, tally.started), 2) : "-"},
         {rate(tally.all_retries()), tally.all_retries() > 0 ? Ink::warning : Ink::calm},
         {std::to_string(row.now->tally.in_flight())},
         {std::to_string(row.now->queued), row.now->queued > 0 ? Ink::warning : Ink::calm},
         {share_text(row.now->budget.fill), low ? Ink::alarm : Ink::calm},
         {row.now->has_breaker ? std::string(admit::name(row.now->breaker)) : "-",
          row.now->has_breaker && !closed ? Ink::alarm : Ink::calm},
         {rough(row.now->p50)},
         {rough(row.now->p99)}});
  }
  print_summary(out, after, style);
  print_switches(out, after.scopes, style);
  print_forced(out, after.forced, style);
  out << '\n';
  const std::size_t room = rows > kRowsAround ? rows - kRowsAround : 1;
  const std::size_t shown = std::min(routes.size(), std::max<std::size_t>(room * 2 / 3, 1));
  table.print(out, style, shown);
  print_replicas(out, after, style, std::max<std::size_t>(room - std::min(room, shown), 1));
}

int run_top(proxy::AdminClient& client, const TopOptions& options, const text::Stdio& streams) {
  if (options.once || !is_terminal(streams.out) || isatty(STDIN_FILENO) != 1) {
    return top_once(client, options.interval, streams);
  }
  auto before = take_snapshot(client);
  if (!before) {
    streams.err << "damper: " << before.error().sentence << '\n';
    return before.error().status;
  }
  const text::ReportStyle style{.colour = wants_colour(streams.out)};
  streams.out.flush();
  const run::Interrupt interrupt;
  Screen screen(STDIN_FILENO, STDOUT_FILENO);
  screen.show("damper proxy on " + client.where() + ": looking ...\n");
  while (!screen.wants_to_leave(options.interval, run::Interrupt::flag())) {
    auto after = take_snapshot(client);
    std::ostringstream page;
    page << "damper proxy on " << client.where() << ", q ends\n";
    if (after) {
      print_top(page, before->state, after->state, between(before->at, after->at), style,
                screen.rows());
      before = std::move(after);
    } else {
      page << '\n' << after.error().sentence << "\n\nIt is asked again.\n";
    }
    screen.show(page.str());
  }
  return kOk;
}

}  // namespace damper::cli
