#include "damper/cli/commands.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "damper/cli/program_testing.h"
#include "damper/http/server/token_testing.h"
#include "damper/proxy/admin/admin_client.h"
#include "damper/proxy/admin/admin_server_testing.h"

namespace damper::cli {
namespace {

using http::TokenFile;
using proxy::AdminFixture;

class Ctl : public ::testing::Test {
 protected:
  Result ctl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"ctl", "--admin", admin.url()});
    return damper(std::move(arguments));
  }
  AdminFixture admin;
};

TEST_F(Ctl, StatusIsThePageOfTheIncident) {
  const Result result = ctl({"status", "--interval", "50ms"});
  EXPECT_EQ(result.status, kOk) << result.err;
  EXPECT_NE(result.out.find("1 breaker is not closed"), std::string::npos) << result.out;
  EXPECT_LT(result.out.find("checkout"), result.out.find("assets"));
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(ctl({"status", "--json"}).out.find("{\"version\":7,"), 0U);
  EXPECT_NE(ctl({"breakers"}).out.find("open"), std::string::npos);
}

TEST_F(Ctl, StatusIsOfNowAndSinceTheStartWhenThatIsAskedFor) {
  const std::string now = ctl({"status", "--interval", "50ms"}).out;
  EXPECT_NE(now.find("checkout  payments      0        -"), std::string::npos) << now;
  const std::string all = ctl({"status", "--since-start"}).out;
  EXPECT_NE(all.find("over the last 3h"), std::string::npos) << all;
  EXPECT_NE(all.find("90.9%"), std::string::npos) << all;
  EXPECT_EQ(ctl({"status", "--interval", "1ms"}).status, kTrouble);
}

TEST_F(Ctl, SwitchesListsWhatIsOff) {
  EXPECT_EQ(ctl({"switches"}).out, "nothing is switched off\n");
  EXPECT_EQ(ctl({"hedging", "off", "--cluster", "payments", "--reason", "cost"}).status, kOk);
  EXPECT_EQ(ctl({"retries", "off", "--for", "30m", "--reason", "storm"}).status, kOk);
  // No loop is asked for it.
  admin.target.before_state = [] { throw std::runtime_error("stuck"); };
  EXPECT_EQ(ctl({"switches"}).out,
            "  OFF  retries of the process, for another 30m: storm\n"
            "  OFF  hedging of cluster payments, until it is turned on: cost\n");
  EXPECT_EQ(ctl({"switches", "--json"}).out.find("{\"switches\":["), 0U);
}

TEST_F(Ctl, RetriesAreTurnedOffAndOnAgain) {
  const Result off =
      ctl({"retries", "off", "--route", "checkout", "--for", "30m", "--reason", "db \"failover\""});
  EXPECT_EQ(off.status, kOk) << off.err;
  EXPECT_EQ(off.out, "retries of route checkout: off, for 30m: db \"failover\"\n");
  EXPECT_NE(ctl({"status", "--interval", "50ms"})
                .out.find("  OFF  retries of route checkout, for another 30m: db \"failover\"\n"),
            std::string::npos)
      << ctl({"status", "--interval", "50ms"}).out;
  const Result on = ctl({"retries", "on", "--route", "checkout"});
  EXPECT_EQ(on.out, "retries of route checkout: on\n");
  EXPECT_EQ(ctl({"status", "--interval", "50ms"}).out.find("OFF"), std::string::npos);
}

TEST_F(Ctl, HedgingIsTurnedOffForAClusterOrForEverything) {
  EXPECT_EQ(ctl({"hedging", "off", "--cluster", "payments", "--reason", "cost"}).out,
            "hedging of cluster payments: off, until it is turned on: cost\n");
  EXPECT_EQ(ctl({"hedging", "off", "--reason", "cost"}).out,
            "hedging of the process: off, until it is turned on: cost\n");
}

TEST_F(Ctl, TurningOffNeedsAReason) {
  const Result result = ctl({"retries", "off"});
  EXPECT_EQ(result.status, kTrouble);
  EXPECT_EQ(result.err,
            "damper: off needs a reason for the next person on duty: --reason \"...\"\n");
  EXPECT_EQ(ctl({"retries", "off", "--reason", "x", "--for", "soon"}).status, kTrouble);
  EXPECT_EQ(ctl({"retries", "maybe"}).status, kTrouble);
  EXPECT_EQ(ctl({"retries", "off", "--route", "a", "--cluster", "b", "--reason", "x"}).status,
            kTrouble);
}

TEST_F(Ctl, AnEmptyNameDoesNotWidenTheScope) {
  for (const char* option : {"--replica", "--route", "--cluster"}) {
    std::vector<std::string> args = {"breaker", "open", "--reason", "x", option, ""};
    if (std::string_view(option) == "--replica") {
      args.insert(args.end(), {"--cluster", "payments"});
    }
    const Result result = ctl(args);
    EXPECT_EQ(result.status, kTrouble) << option;
    EXPECT_NE(result.err.find("must not be empty"), std::string::npos) << result.err;
  }
}

TEST_F(Ctl, ABreakerIsForcedAndReset) {
  const Result open = ctl({"breaker", "open", "--route", "checkout", "--reason", "db failover"});
  EXPECT_EQ(open.status, kOk) << open.err;
  EXPECT_EQ(open.out, "breaker of route checkout: forced open, for 10m: db failover\n");
  const Result replica = ctl({"breaker", "close", "--cluster", "payments", "--replica",
                              "10.0.0.7:80", "--reason", "false alarm", "--for", "1h"});
  EXPECT_EQ(replica.out,
            "breaker of replica 10.0.0.7:80 of cluster payments: forced closed, for 1h: "
            "false alarm\n");
  for (const std::vector<std::string>& page :
       {std::vector<std::string>{"status", "--interval", "50ms"},
        {"breakers"},
        {"top", "--once"}}) {
    const std::string out = ctl(page).out;
    EXPECT_NE(
        out.find("  FORCED OPEN  breaker of route checkout (by itself half_open), for another 10m: "
                 "db failover\n"),
        std::string::npos)
        << out;
    EXPECT_NE(out.find("  FORCED CLOSED  breaker of replica 10.0.0.7:80 of cluster payments, for "
                       "another 1h: false alarm\n"),
              std::string::npos)
        << out;
  }
  EXPECT_NE(ctl({"status", "--interval", "50ms"}).out.find("2 breakers are forced"),
            std::string::npos);
  EXPECT_EQ(ctl({"breaker", "reset", "--route", "checkout"}).out,
            "breaker of route checkout: reset\n");
  EXPECT_EQ(ctl({"breakers"}).out.find("FORCED OPEN"), std::string::npos);
  EXPECT_EQ(
      ctl({"breaker", "reset", "--route", "checkout", "--json"}).out.find("{\"forced_breakers\":["),
      0U);
}

TEST_F(Ctl, ForcingABreakerNeedsAScopeAndAReason) {
  const auto error = [this](std::vector<std::string> more) {
    more.insert(more.begin(), "breaker");
    const Result result = ctl(std::move(more));
    EXPECT_EQ(result.status, kTrouble);
    return result.err;
  };
  EXPECT_EQ(error({"open", "--reason", "x"}),
            "damper: breaker needs --route NAME or --cluster NAME\n");
  EXPECT_EQ(error({"open", "--route", "checkout"}),
            "damper: open needs a reason for the next person on duty: --reason \"...\"\n");
  EXPECT_EQ(error({"open", "--route", "checkout", "--replica", "a:1", "--reason", "x"}),
            "damper: --replica needs --cluster NAME\n");
  EXPECT_EQ(error({"open", "--route", "checkout", "--reason", "x", "--for", "48h"}),
            "damper: for is 48h; it must be from 1ms to 24h\n");
  EXPECT_EQ(error({"reset", "--route", "checkout", "--for", "1h"}),
            "damper: for is only accepted with force: open or closed\n");
  EXPECT_EQ(ctl({"breaker", "ajar", "--route", "checkout"}).status, kTrouble);
  const Result nowhere = ctl({"breaker", "reset", "--route", "nope"});
  EXPECT_EQ(nowhere.status, proxy::kRefused);
  EXPECT_EQ(nowhere.err, "damper: there is no route \"nope\" (there are: checkout)\n");
  EXPECT_TRUE(admin.target.shown.forced.empty());
}

TEST_F(Ctl, WhatTheProxyRefusesIsStatusOne) {
  const Result nowhere = ctl({"retries", "off", "--route", "nope", "--reason", "x"});
  EXPECT_EQ(nowhere.status, proxy::kRefused);
  EXPECT_EQ(nowhere.err, "damper: there is no route \"nope\" (there are: checkout)\n");
  admin.target.refusal = {.sentence = "damper.yaml:3: unknown key \"retrys\""};
  const Result reload = ctl({"reload"});
  EXPECT_EQ(reload.status, proxy::kRefused);
  EXPECT_EQ(reload.err, "damper: damper.yaml:3: unknown key \"retrys\"\n");
}

TEST_F(Ctl, AReloadSaysItsVersion) {
  const Result result = ctl({"reload"});
  EXPECT_EQ(result.status, kOk) << result.err;
  EXPECT_EQ(result.out, "reloaded: policy version 8\n");
  EXPECT_EQ(ctl({"reload", "--json"}).out, "{\"version\":9}\n");
  EXPECT_EQ(ctl({"policy"}).out, "routes: []\n");
}

TEST_F(Ctl, EventsAreWhatWasKept) {
  admin.report("checkout");
  const Result result = ctl({"events"});
  EXPECT_EQ(result.status, kOk) << result.err;
  EXPECT_NE(result.out.find("  breaker_opened     checkout\n"), std::string::npos) << result.out;
  EXPECT_EQ(ctl({"events", "--json"}).out.find("{\"time\":"), 0U);
}

TEST_F(Ctl, TopPrintsOneIntervalWhereNobodyWatches) {
  const Result result = ctl({"top", "--interval", "50ms"});
  EXPECT_EQ(result.status, kOk) << result.err;
  EXPECT_NE(result.out.find("req/s"), std::string::npos) << result.out;
  EXPECT_EQ(ctl({"top", "--json"}).out.find("{\"version\":7,"), 0U);
  EXPECT_EQ(ctl({"top", "--interval", "1h"}).err,
            "damper: --interval is 1h; it must be from 50ms to 1m\n");
}

TEST_F(Ctl, WhenNobodyListensItSaysWhatToDo) {
  const std::string where = admin.url();
  admin.server.reset();
  for (const char* command :
       {"status", "switches", "breakers", "top", "events", "reload", "policy"}) {
    const Result result = damper({"ctl", command, "--admin", where});
    EXPECT_EQ(result.status, kTrouble);
    EXPECT_EQ(result.err, "damper: nothing listens on " + where.substr(7) +
                              ": is the proxy running with admin pages? check --admin\n")
        << command;
  }
}

TEST(CtlToken, IsReadFromAFileAndAskedForWhenItIsMissing) {
  const TokenFile file("0123456789abcdef");
  const TokenFile other("fedcba9876543210");
  AdminFixture admin({.token_file = file.path()});
  const auto reload = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"ctl", "--admin", admin.url(), "reload"});
    return damper(std::move(more));
  };
  const Result without = reload({});
  EXPECT_EQ(without.status, proxy::kRefused);
  EXPECT_EQ(without.err,
            "damper: a token is needed: Authorization: Bearer TOKEN; give its file with "
            "--token-file\n");
  const Result wrong = reload({"--token-file", other.path()});
  EXPECT_EQ(wrong.status, proxy::kRefused);
  EXPECT_EQ(wrong.err, "damper: this is not the token; is --token-file the one of this proxy?\n");
  EXPECT_EQ(reload({"--token-file", file.path()}).status, kOk);
  EXPECT_EQ(reload({"--token-file", "/nonexistent"}).status, kTrouble);
}

TEST(CtlHelp, HasExamples) {
  const Result result = damper({"ctl", "--help"});
  EXPECT_EQ(result.status, kOk);
  EXPECT_NE(result.out.find("damper ctl retries off --route checkout"), std::string::npos);
  const std::string retries = damper({"ctl", "retries", "--help"}).out;
  EXPECT_NE(retries.find("position off|on REQUIRED"), std::string::npos) << retries;
  EXPECT_NE(retries.find("damper ctl retries on --route checkout"), std::string::npos) << retries;
  EXPECT_EQ(retries.find("ctl top"), std::string::npos) << retries;
  EXPECT_EQ(damper({"ctl"}).status, kTrouble);
  EXPECT_EQ(damper({"ctl", "nonsense"}).status, kTrouble);
}

}  // namespace
}  // namespace damper::cli
