#include "damper/observe/exposition.h"

#include "damper/base/check.h"

namespace damper::observe {
namespace {

// name{labels} value
std::string line(std::string_view name, std::string_view labels, std::string_view value) {
  std::string out(name);
  if (!labels.empty()) out.append("{").append(labels).append("}");
  return out.append(" ").append(value).append("\n");
}

}  // namespace

std::string* Exposition::open(std::string_view name, std::string_view kind, std::string_view help,
                              const std::string& labels) {
  DAMPER_CHECK(is_metric_name(name));
  auto found = families_.find(name);
  if (found == families_.end()) {
    found = families_.emplace(name, Family{kind, std::string(help), {}}).first;
  }
  Family& family = found->second;
  DAMPER_CHECK(family.kind == kind && family.help == help);
  if (family.series.contains(labels) || family.series.size() >= most_series_) {
    ++dropped_[std::string(name)];
    return nullptr;
  }
  return &family.series[labels];
}

void Exposition::add(std::string_view name, std::string_view kind, std::string_view help,
                     const Labels& labels, const std::string& value) {
  const std::string rendered_labels = render(labels);
  std::string* const lines = open(name, kind, help, rendered_labels);
  if (lines != nullptr) *lines = line(name, rendered_labels, value);
}

void Exposition::histogram(std::string_view name, std::string_view help, const Labels& labels,
                           const HistogramValue& value) {
  DAMPER_CHECK(value.counts.size() == value.bounds.size() + 1);
  const std::string rendered_labels = render(labels);
  std::string* const lines = open(name, "histogram", help, rendered_labels);
  if (lines == nullptr) return;
  const std::string base(name);
  std::uint64_t count = 0;  // Of this bucket and those under it: buckets are cumulative.
  for (std::size_t i = 0; i < value.counts.size(); ++i) {
    count += value.counts[i];
    const std::string bound = i < value.bounds.size() ? render(value.bounds[i]) : "+Inf";
    std::string all_labels = rendered_labels;
    all_labels.append(rendered_labels.empty() ? "le=\"" : ",le=\"").append(bound).append("\"");
    *lines += line(base + "_bucket", all_labels, std::to_string(count));
  }
  *lines += line(base + "_sum", rendered_labels, render(value.sum));
  *lines += line(base + "_count", rendered_labels, std::to_string(count));
}

std::string Exposition::text() const {
  std::string out;
  for (const auto& [name, family] : families_) {
    out.append("# HELP ").append(name).append(" ").append(render_help(family.help)).append("\n");
    out.append("# TYPE ").append(name).append(" ").append(family.kind).append("\n");
    for (const auto& [labels, lines] : family.series) out += lines;
  }
  return out;
}

}  // namespace damper::observe
