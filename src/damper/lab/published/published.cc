#include "damper/lab/published/published.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "damper/base/text/plain_text.h"
#include "damper/lab/published/published_study.h"
#include "damper/lab/runs/workers.h"

namespace damper::lab {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool has_text(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

// The studies and rows that options.only selects.
std::vector<Study> chosen_studies(const ReproduceOptions& options) {
  std::vector<Study> chosen;
  for (Study& study : all_studies()) {
    std::erase_if(study.rows, [&](const StudyRow& each) {
      return !has_text(each.row.result, options.only) && !has_text(each.row.what, options.only) &&
             !has_text(study.of, options.only);
    });
    study.runs = std::min(study.runs, std::max<std::size_t>(1, options.most_runs));
    if (!study.rows.empty()) chosen.push_back(std::move(study));
  }
  return chosen;
}

ReproducedRow judge(const Study& study, const StudyRow& each, std::span<const Sample> samples) {
  const Estimate estimate = each.estimate(samples);
  return {.row = each.row,
          .ours = estimate.value,
          .interval = estimate.interval,
          .within = each.row.low <= estimate.value && estimate.value <= each.row.high,
          .how = text::with_commas(static_cast<std::int64_t>(study.runs)) +
                 (study.runs == 1 ? " run of " : " runs of ") + study.of};
}

}  // namespace

std::size_t Reproduction::judged() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(rows, [](const ReproducedRow& each) { return each.row.judged; }));
}

std::size_t Reproduction::within() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      rows, [](const ReproducedRow& each) { return each.row.judged && each.within; }));
}

std::vector<PublishedRow> published_rows() {
  std::vector<PublishedRow> rows;
  for (const Study& study : all_studies()) {
    for (const StudyRow& each : study.rows) rows.push_back(each.row);
  }
  return rows;
}

Reproduction reproduce(const ReproduceOptions& options) {
  const std::vector<Study> studies = chosen_studies(options);
  // The runs of all studies, one after the other.
  std::vector<std::size_t> first{0};
  for (const Study& study : studies) first.push_back(first.back() + study.runs);
  std::vector<Sample> samples(first.back());
  const auto run = [&](std::size_t index) {
    const auto next = std::upper_bound(first.begin(), first.end(), index);
    const auto study = static_cast<std::size_t>(next - first.begin()) - 1;
    samples[index] = studies[study].run(
        {.seed = index - first[study] + 1, .stop = options.stop, .ties = options.ties});
  };
  const std::size_t done = run_parallel({.count = samples.size(),
                                         .threads = options.threads,
                                         .stop = options.stop,
                                         .on_progress = options.on_progress},
                                        run);

  Reproduction result{.rows = {}, .runs = 0, .asked = samples.size(), .interrupted = false};
  const auto all = std::span<const Sample>(samples).first(done);
  result.runs =
      static_cast<std::size_t>(std::ranges::count_if(all, [](const Sample& s) { return s.whole; }));
  result.interrupted = result.runs < result.asked;
  for (std::size_t i = 0; i < studies.size(); ++i) {
    if (first[i + 1] > done) break;
    const auto own = all.subspan(first[i], studies[i].runs);
    if (!std::ranges::all_of(own, [](const Sample& sample) { return sample.whole; })) continue;
    for (const StudyRow& each : studies[i].rows)
      result.rows.push_back(judge(studies[i], each, own));
  }
  return result;
}

}  // namespace damper::lab
