#include "damper/observe/registry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "damper/observe/promtool_testing.h"

namespace damper::observe {
namespace {

TEST(Registry, WritesTheTextFormat) {
  Registry registry;
  registry.counter("b_total", "Second.", {{"host", "z"}}).add(2);
  registry.counter("b_total", "Second.", {{"host", "a\"\n"}}).add(1);
  registry.gauge("a", "First,\nin \\ order.").set(-0.5);
  Histogram& histogram = registry.histogram("c_seconds", "Third.", {0.1, 1}, {{"to", "db"}});
  for (const double value : {0.1, 0.5, 2.0}) histogram.observe(value);
  EXPECT_EQ(registry.expose(), R"(# HELP a First,\nin \\ order.
# TYPE a gauge
a -0.5
# HELP b_total Second.
# TYPE b_total counter
b_total{host="a\"\n"} 1
b_total{host="z"} 2
# HELP c_seconds Third.
# TYPE c_seconds histogram
c_seconds_bucket{to="db",le="0.1"} 1
c_seconds_bucket{to="db",le="1"} 2
c_seconds_bucket{to="db",le="+Inf"} 3
c_seconds_sum{to="db"} 2.6
c_seconds_count{to="db"} 3
)");
}

TEST(Registry, ALargeCounterIsExact) {
  Registry registry;
  registry.counter("n_total", "N.").add(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(registry.expose(),
            "# HELP n_total N.\n# TYPE n_total counter\nn_total 18446744073709551615\n");
}

TEST(Registry, AskingAgainGivesTheSameSeries) {  // Invariant (1).
  Registry registry;
  Counter& counter = registry.counter("n_total", "N.", {{"a", "1"}, {"b", "2"}});
  EXPECT_EQ(&registry.counter("n_total", "N.", {{"b", "2"}, {"a", "1"}}), &counter);
  EXPECT_NE(&registry.counter("n_total", "N.", {{"a", "1"}, {"b", "3"}}), &counter);
  EXPECT_EQ(&registry.gauge("g", "G."), &registry.gauge("g", "G."));
  EXPECT_EQ(&registry.histogram("h", "H.", {1}), &registry.histogram("h", "H.", {1}));
}

TEST(Registry, OneNameWithTwoMeaningsIsABug) {
  Registry registry;
  (void)registry.counter("n_total", "N.", {{"a", "1"}});
  (void)registry.histogram("h", "H.", {1});
  EXPECT_DEATH((void)registry.gauge("n_total", "N.", {{"a", "1"}}), "check failed");
  EXPECT_DEATH((void)registry.counter("n_total", "M.", {{"a", "1"}}), "check failed");
  EXPECT_DEATH((void)registry.counter("n_total", "N.", {{"b", "1"}}), "check failed");
  EXPECT_DEATH((void)registry.histogram("h", "H.", {2}), "check failed");
  EXPECT_DEATH((void)registry.counter("n-total", "N."), "check failed");
  EXPECT_DEATH(Registry({.most_series = 0}), "check failed");
}

TEST(Registry, OptionsHaveBounds) {
  EXPECT_FALSE(find_error(RegistryOptions{.most_series = 1}));
  EXPECT_FALSE(find_error(RegistryOptions{.most_series = 100'000}));
  EXPECT_EQ(find_error(RegistryOptions{.most_series = 100'001}),
            "most_series is 100001; it must be from 1 to 100000");
}

TEST(Registry, CountersOverTheLimitGoToOtherSoThatSumsStayRight) {  // Invariant (2).
  Registry registry({.most_series = 2});
  for (int i = 0; i < 5; ++i) {
    registry.counter("n_total", "N.", {{"key", std::to_string(i)}}).add(10);
  }
  registry.counter("n_total", "N.", {{"key", "1"}}).add(1);  // One of the first: still itself.
  EXPECT_EQ(registry.expose(),
            "# HELP damper_metrics_dropped_series_total Series that were not made, or samples not "
            "shown, because their family is at its limit.\n"
            "# TYPE damper_metrics_dropped_series_total counter\n"
            "damper_metrics_dropped_series_total{family=\"n_total\"} 3\n"
            "# HELP n_total N.\n"
            "# TYPE n_total counter\n"
            "n_total{key=\"0\"} 10\n"
            "n_total{key=\"1\"} 11\n"
            "n_total{key=\"other\"} 30\n");
}

TEST(Registry, ARealSeriesCalledOtherIsTheSameOne) {
  Registry registry({.most_series = 1});
  Counter& other = registry.counter("n_total", "N.", {{"key", "other"}});
  EXPECT_EQ(&registry.counter("n_total", "N.", {{"key", "x"}}), &other);
}

TEST(Registry, HistogramsOverTheLimitGoToOtherAndGaugesAreNotShown) {
  Registry registry({.most_series = 1});
  registry.gauge("g", "G.", {{"key", "a"}}).set(1);
  registry.gauge("g", "G.", {{"key", "b"}}).set(2);
  registry.histogram("h", "H.", {1}, {{"key", "a"}}).observe(0.5);
  registry.histogram("h", "H.", {1}, {{"key", "b"}}).observe(0.5);
  const std::string text = registry.expose();
  EXPECT_NE(text.find("g{key=\"a\"} 1\n"), std::string::npos);
  EXPECT_EQ(text.find("g{key=\"b\"}"), std::string::npos);
  EXPECT_EQ(text.find("g{key=\"other\"}"), std::string::npos);
  EXPECT_NE(text.find("h_count{key=\"other\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("dropped_series_total{family=\"g\"} 1\n"), std::string::npos);
}

TEST(Registry, CollectorsShareFamiliesAndASeriesAppearsOnce) {
  Registry registry;
  const auto balance = [](std::string dependency, int value) {
    return [=](Exposition& out) {
      out.gauge("balance", "Left.", {{"dependency", dependency}}, value);
    };
  };
  const auto db = registry.collect(balance("db", 3));
  const auto cache = registry.collect(balance("cache", 4));
  const auto again = registry.collect(balance("db", 99));
  const std::string families =
      "# HELP balance Left.\n# TYPE balance gauge\nbalance{dependency=\"cache\"} 4\n"
      "balance{dependency=\"db\"} 3\n";
  EXPECT_TRUE(registry.expose().starts_with(families));
  // The second scrape drops it again; the counter counts both.
  EXPECT_TRUE(registry.expose().ends_with("{family=\"balance\"} 2\n"));
}

TEST(Registry, ACollectorsFamilyHasTheSameLimit) {  // Invariant (2).
  Registry registry({.most_series = 2});
  const auto collection = registry.collect([](Exposition& out) {
    for (int i = 0; i < 5; ++i) out.counter("n_total", "N.", {{"i", std::to_string(i)}}, i);
  });
  EXPECT_TRUE(
      registry.expose().ends_with("n_total{i=\"0\"} 0\nn_total{i=\"1\"} 1\n"
                                  "n_total{i=\"2\"} 2\n"));
}

TEST(Registry, AnEndedCollectionIsNotAsked) {  // Invariant (3).
  Registry registry;
  int asked = 0;
  {
    Registry::Collection outer;
    {
      Registry::Collection inner = registry.collect([&](Exposition&) { ++asked; });
      outer = std::move(inner);
    }
    (void)registry.expose();
    EXPECT_EQ(asked, 1);
    const Registry::Collection moved(std::move(outer));
    (void)registry.expose();
    EXPECT_EQ(asked, 2);
  }
  (void)registry.expose();
  EXPECT_EQ(asked, 2);
}

TEST(Registry, RequestsScrapesAndCountsRunSideBySide) {
  Registry registry({.most_series = 10});
  std::atomic<bool> stop{false};
  std::jthread scraper([&] {
    while (!stop.load()) (void)registry.expose();
  });
  {
    std::vector<std::jthread> pool;
    for (int t = 0; t < 4; ++t) {
      pool.emplace_back([&] {
        for (int i = 0; i < 500; ++i) {
          registry.counter("n_total", "N.", {{"key", std::to_string(i % 20)}}).add();
          registry.gauge("g", "G.").add(1);
          const auto collection =
              registry.collect([](Exposition& out) { out.gauge("c", "C.", {}, 1); });
        }
      });
    }
  }
  stop = true;
  scraper.join();
  const std::string text = registry.expose();
  EXPECT_NE(text.find("\ng 2000\n"), std::string::npos);
  EXPECT_NE(text.find("n_total{key=\"0\"} 100\n"), std::string::npos);
  EXPECT_NE(text.find("n_total{key=\"other\"} 1000\n"), std::string::npos);
}

TEST(Registry, PromtoolAcceptsWhatIsExposed) {
  Registry registry({.most_series = 3});
  for (int i = 0; i < 6; ++i) {
    registry.counter("damper_retries_total", "Retries \\ of\nall.", {{"reason", std::to_string(i)}})
        .add(7);
  }
  registry.counter("damper_odd_total", "Odd labels.", {{"a", "q\"b\\s\nl\xFF\xED\xA0\x80\xC3\xA9"}})
      .add(std::numeric_limits<std::uint64_t>::max());
  registry.gauge("damper_nan", "Not a number.").set(std::numeric_limits<double>::quiet_NaN());
  registry.gauge("damper_inf", "Infinite.", {{"sign", "-"}})
      .set(-std::numeric_limits<double>::infinity());
  registry.gauge("damper_inf", "Infinite.", {{"sign", "+"}})
      .set(std::numeric_limits<double>::infinity());
  registry.gauge("damper_small", "Small.").set(5e-324);
  registry.histogram("damper_latency_seconds", "Latency.", latency_bounds(), {{"to", "db"}})
      .observe(0.3);
  registry.histogram("damper_wait_seconds", "Wait.", {1e-9, 1e9}).observe(3);
  const auto collection = registry.collect([](Exposition& out) {
    out.gauge("damper_retry_budget_balance", "Left.", {{"dependency", "db"}}, 2.5);
    out.counter("damper_waited_seconds_total", "Waited.", {}, 0.1);
  });
  EXPECT_EQ(promtool(registry.expose()), "");
}

TEST(Registry, PromtoolWouldSayWhatIsWrong) {
  EXPECT_NE(promtool("a{b=\"\xFF\"} 1\n"), "");
  EXPECT_NE(promtool("# HELP a A.\n# TYPE a counter\na 1\n"), "");  // No _total.
}

}  // namespace
}  // namespace damper::observe
