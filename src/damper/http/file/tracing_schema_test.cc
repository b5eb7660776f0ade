#include "damper/http/file/tracing_schema.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "damper/config/form.h"

namespace damper::http {
namespace {

struct File {
  std::optional<TraceExporterOptions> tracing{};
};

const config::Schema<File>& schema() {
  static const config::Schema<File> kSchema = [] {
    config::Schema<File> file("file");
    add_tracing(file);
    return file;
  }();
  return kSchema;
}

// What the file sets, or the error.
Expected<File> load(const std::string& text) {
  const auto tree = config::parse_yaml(text, "f");
  if (!tree) return unexpected(to_string(tree.error()));
  File file;
  config::Reader reader("f");
  if (const auto error = reader.read(schema(), *tree, tree->place, "the file", file)) {
    return unexpected(to_string(*error));
  }
  return file;
}

TEST(TracingSchema, ItFillsTheOptionsOfAnExporter) {
  const auto file = load(
      "tracing: { collector: 'http://c:4318/own', service_name: shop, sampling: 5%, "
      "failures_per_second: 7, timeout: 2s, interval: 3s, max_batch_size: 11, max_queue_size: 99 "
      "}");
  ASSERT_TRUE(file) << file.error();
  EXPECT_EQ(*file->tracing,
            (TraceExporterOptions{.collector = "http://c:4318/own",
                                  .service_name = "shop",
                                  .timeout = std::chrono::seconds(2),
                                  .interval = std::chrono::seconds(3),
                                  .max_batch = 11,
                                  .queue = 99,
                                  .tracer = {.sampling = Percent(5), .failures_per_second = 7}}));
  EXPECT_FALSE(find_error(*file->tracing));
}

TEST(TracingSchema, ItIsOffByDefault) {
  EXPECT_FALSE(load("tracing: off")->tracing);
  const auto defaults = load("tracing: on");
  ASSERT_TRUE(defaults) << defaults.error();
  EXPECT_EQ(*defaults->tracing, TraceExporterOptions{});
}

TEST(TracingSchema, AnErrorNamesTheValueTheBoundAndThePlace) {
  const auto error = [](const std::string& key, const std::string& value) {
    return load("tracing: { " + key + ": " + value + " }").error();
  };
  constexpr const char* kName =
      "f:1:26: service_name must be 1 to 256 printable ASCII characters, not ";
  EXPECT_EQ(
      error("collector", "nonsense"),
      "f:1:23: collector must be a URL such as http://127.0.0.1:4318, not \"nonsense\": a URL "
      "begins with http:// or https://");
  EXPECT_EQ(error("service_name", "''"), std::string(kName) + "\"\"");
  EXPECT_EQ(error("service_name", std::string(257, 'x')),
            kName + ('"' + std::string(60, 'x') + "...\""));
  EXPECT_EQ(error("sampling", "101%"),
            "f:1:22: sampling must be a percentage from 0 to 100 with at most two decimals, not "
            "\"101%\"");
  EXPECT_EQ(error("failures_per_second", "-1"),
            "f:1:33: failures_per_second must be a whole number from 0 to 100000, not \"-1\"");
  EXPECT_EQ(error("timeout", "1ms"),
            "f:1:21: timeout must be a duration from 10ms to 1m, such as 250ms, 2s or 1.5m, not "
            "\"1ms\"");
  EXPECT_EQ(error("interval", "2m"),
            "f:1:22: interval must be a duration from 10ms to 1m, such as 250ms, 2s or 1.5m, not "
            "\"2m\"");
  EXPECT_EQ(error("max_batch_size", "0"),
            "f:1:28: max_batch_size must be a whole number from 1 to 10000, not \"0\"");
  EXPECT_EQ(error("max_queue_size", "15"),
            "f:1:28: max_queue_size must be a whole number from 16 to 1000000, not \"15\"");
  EXPECT_EQ(
      error("sample", "1%"),
      "f:1:12: unknown key \"sample\" in tracing; did you mean sampling? (accepted: collector, "
      "ca_file, service_name, sampling, failures_per_second, timeout, interval, max_batch_size, "
      "max_queue_size)");
}

}  // namespace
}  // namespace damper::http
