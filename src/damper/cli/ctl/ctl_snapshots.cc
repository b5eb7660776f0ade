#include "damper/cli/ctl/ctl_snapshots.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "damper/cli/program.h"
#include "damper/proxy/admin/state_json.h"
#include "damper/run/clock.h"

namespace damper::cli {
namespace {

using engine::Tally;
using proxy::ProxyState;
using proxy::RouteState;

std::uint64_t grown(std::uint64_t before, std::uint64_t after) {
  return after > before ? after - before : 0;
}

Tally grown(const Tally& a, const Tally& b) {
  Tally change;
  for (const auto number :
       {&Tally::started, &Tally::finished, &Tally::attempts, &Tally::hedges, &Tally::hedges_won,
        &Tally::hedges_suppressed, &Tally::budget_refusals}) {
    change.*number = grown(a.*number, b.*number);
  }
  for (std::size_t i = 0; i < change.verdicts.size(); ++i) {
    change.verdicts[i] = grown(a.verdicts[i], b.verdicts[i]);
  }
  for (std::size_t i = 0; i < change.retries.size(); ++i) {
    change.retries[i] = grown(a.retries[i], b.retries[i]);
  }
  return change;
}

}  // namespace

Expected<Snapshot, proxy::AdminClientError> take_snapshot(proxy::AdminClient& client) {
  const auto text = client.get("/state");
  if (!text) return unexpected(text.error());
  auto state = proxy::parse_state(*text);
  if (!state) {
    return unexpected(
        proxy::AdminClientError{client.where() + " answered, but " + state.error(), kTrouble});
  }
  return Snapshot{*std::move(state), run::now()};
}

Expected<Snapshots, proxy::AdminClientError> take_snapshots(proxy::AdminClient& client,
                                                            Duration apart) {
  auto before = take_snapshot(client);
  if (!before) return unexpected(before.error());
  std::this_thread::sleep_for(apart);
  auto after = take_snapshot(client);
  if (!after) return unexpected(after.error());
  return Snapshots{.before = std::move(before->state),
                   .after = std::move(after->state),
                   .apart = between(before->at, after->at)};
}

Expected<Snapshots, proxy::AdminClientError> snapshots_since_start(proxy::AdminClient& client) {
  auto now = take_snapshot(client);
  if (!now) return unexpected(now.error());
  const Duration up = now->state.up;
  return Snapshots{.before = {}, .after = std::move(now->state), .apart = up};
}

std::vector<RouteChange> changes_between(const ProxyState& before, const ProxyState& after) {
  static const RouteState kNew;
  std::vector<RouteChange> changes;
  for (const RouteState& now : after.routes) {
    const auto was = std::find_if(before.routes.begin(), before.routes.end(),
                                  [&](const RouteState& one) { return one.name == now.name; });
    changes.push_back(
        {.now = &now, .tally = grown((was == before.routes.end() ? kNew : *was).tally, now.tally)});
  }
  return changes;
}

std::uint64_t final_answers(const Tally& tally) {
  return tally.of(Verdict::permanent) + tally.of(Verdict::conflict);
}

double success_share(const Tally& tally) {
  const std::uint64_t others = grown(final_answers(tally), tally.finished);
  return others == 0 ? 1 : share_of(tally.of(Verdict::success), others);
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace damper::cli
