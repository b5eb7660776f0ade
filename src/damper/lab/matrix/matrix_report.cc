// The reports of matrix.h.
#include <limits>
#include <ostream>

#include "damper/base/text/html_page.h"
#include "damper/base/text/json_writer.h"
#include "damper/base/text/plain_text.h"
#include "damper/lab/matrix/matrix.h"

namespace damper::lab {
namespace {

constexpr std::size_t kWidth = 120;
constexpr std::string_view kAbout =
    "Every defence against every trouble, compared with the same run without it. A number is the "
    "goodput by that without the defence. g: goodput is under 0.98 of it. b: 99 % of the load "
    "succeeds again later than 10 s after the trouble, and later than without it. a: more attempts "
    "than the budget allows. The mean over the seeds decides; in brackets behind it is its 95 % "
    "interval. A sign in brackets has a reason, which is below.";

using Rows = std::vector<std::vector<std::string>>;

std::string signs_of(const HarmCell& cell) {
  std::string signs;
  if (cell.goodput.broken) signs += 'g';
  if (cell.back.broken) signs += 'b';
  if (cell.attempts.broken) signs += 'a';
  if (!signs.empty() && !cell.reason.empty()) signs = '(' + signs + ')';
  return signs;
}

std::string text_of(const HarmCell* cell) {
  if (cell == nullptr) return "";
  const std::string signs = signs_of(*cell);
  const std::string ratio =
      cell->goodput.value.n() == 0 ? "-" : text::fixed_text(cell->goodput.value.mean(), 2);
  return signs.empty() ? ratio : ratio + ' ' + signs;
}

Rows table_of(const HarmMatrix& matrix) {
  Rows rows = {{""}};
  for (const Defence& defence : matrix.defences) rows[0].emplace_back(defence.name);
  for (std::size_t t = 0; t < matrix.troubles.size(); ++t) {
    rows.push_back({std::string(matrix.troubles[t].name)});
    for (std::size_t d = 0; d < matrix.defences.size(); ++d) {
      rows.back().push_back(text_of(matrix.find(t, d)));
    }
  }
  return rows;
}

// "breaker, flapping: goodput 0.61 (0.60 to 0.62), back after 12 s, attempts 0.40"
std::string sentence_of(const HarmMatrix& matrix, const HarmCell& cell) {
  std::string line(matrix.defences[cell.defence].name);
  line += ", ";
  line += matrix.troubles[cell.trouble].name;
  line += ": goodput " + to_text(cell.goodput.value, 3);
  if (cell.back.value.n() > 0) line += ", back after " + to_text(cell.back.value, 0) + " s";
  return line + ", attempts " + to_text(cell.attempts.value, 3);
}

std::string summary_of(const HarmMatrix& matrix) {
  std::size_t explained = 0;
  for (const HarmCell& cell : matrix.cells) explained += !cell.holds() && !cell.reason.empty();
  const std::size_t harmful = matrix.unexplained();
  return std::to_string(matrix.cells.size()) +
         " cells: " + std::to_string(matrix.cells.size() - explained - harmful) + " hold, " +
         std::to_string(explained) + " have a reason, " + std::to_string(harmful) +
         " do harm without one.";
}

template <class Print>
void for_each_broken(const HarmMatrix& matrix, Print print) {
  for (const HarmCell& cell : matrix.cells) {
    if (!cell.holds()) print(cell);
  }
}

void write_rule(text::JsonWriter& json, std::string_view name, const HarmRule& rule) {
  json.open('{', name);
  const bool known = rule.value.n() > 0;
  json.field("value", known ? rule.value.mean() : std::numeric_limits<double>::quiet_NaN());
  json.field("low", known ? rule.value.interval().low : std::numeric_limits<double>::quiet_NaN());
  json.field("high", known ? rule.value.interval().high : std::numeric_limits<double>::quiet_NaN());
  json.field("broken", rule.broken);
  json.close('}');
}

template <class Named>
void write_named(text::JsonWriter& json, std::string_view key, const std::vector<Named>& all) {
  json.open('[', key);
  for (const Named& each : all) {
    json.open('{');
    json.field("name", each.name);
    json.field("about", each.about);
    json.close('}');
  }
  json.close(']');
}

}  // namespace

void print_matrix_text(std::ostream& out, const HarmMatrix& matrix, text::ReportStyle style) {
  const text::Painter paint(style);
  const bool harmful = matrix.unexplained() > 0;
  out << paint(harmful ? text::Ink::alarm : text::Ink::good, summary_of(matrix)) << '\n';
  for (const std::string& line : text::wrapped(kAbout, 98)) out << line << '\n';
  out << '\n';
  text::print_table(out, table_of(matrix), kWidth, paint);
  out << '\n';
  for_each_broken(matrix, [&](const HarmCell& cell) {
    out << sentence_of(matrix, cell) << '\n';
    if (cell.reason.empty()) return;
    for (const std::string& line : text::wrapped(cell.reason, 94)) out << "    " << line << '\n';
  });
  if (!matrix.command.empty()) out << "\nAgain: " << text::printable(matrix.command) << '\n';
  if (matrix.interrupted) {
    out << '\n' << paint(text::Ink::warning, "Interrupted: not every cell is there.") << '\n';
  }
}

void print_matrix_html(std::ostream& out, const HarmMatrix& matrix) {
  text::begin_page(out, "The harm matrix", summary_of(matrix));
  text::begin_section(out, "Goodput with the defence by goodput without it", kAbout);
  std::vector<std::vector<text::HtmlCell>> rows;
  for (const auto& row : table_of(matrix)) {
    auto& cells = rows.emplace_back();
    for (const std::string& each : row) cells.push_back({each});
  }
  text::print_html_table(out, "The harm matrix", rows);
  out << "</section>\n";
  text::begin_section(out, "Cells that do not hold", "");
  rows = {{{"cell"}, {"reason"}}};
  for_each_broken(matrix, [&](const HarmCell& cell) {
    rows.push_back({{sentence_of(matrix, cell)},
                    {cell.reason.empty() ? "none: it is a defect" : std::string(cell.reason)}});
  });
  text::print_html_table(out, "Cells that do not hold", rows);
  out << "</section>\n";
  text::print_command(out, matrix.command);
  text::end_page(out, matrix.version);
}

void print_matrix_json(std::ostream& out, const HarmMatrix& matrix) {
  text::JsonWriter json(out);
  json.open('{');
  json.field("kind", "matrix");
  json.field("command", matrix.command);
  json.field("version", matrix.version);
  json.field("interrupted", matrix.interrupted);
  json.field("runs", matrix.runs);
  json.field("seed", matrix.seed);
  write_named(json, "defences", matrix.defences);
  write_named(json, "troubles", matrix.troubles);
  json.open('[', "cells");
  for (const HarmCell& cell : matrix.cells) {
    json.open('{');
    json.field("trouble", matrix.troubles[cell.trouble].name);
    json.field("defence", matrix.defences[cell.defence].name);
    json.field("holds", cell.holds());
    json.field("reason", cell.reason);
    write_rule(json, "goodput", cell.goodput);
    write_rule(json, "back", cell.back);
    write_rule(json, "attempts", cell.attempts);
    json.close('}');
  }
  json.close(']');
  json.close('}');
  out << '\n';
}

void print_matrix_csv(std::ostream& out, const HarmMatrix& matrix) {
  out << "trouble,defence,holds,goodput,back_s,attempts,reason\n";
  for (const HarmCell& cell : matrix.cells) {
    out << matrix.troubles[cell.trouble].name << ',' << matrix.defences[cell.defence].name << ','
        << (cell.holds() ? "true" : "false");
    for (const HarmRule* rule : {&cell.goodput, &cell.back, &cell.attempts}) {
      out << ',' << (rule->value.n() == 0 ? "" : text::for_programs(rule->value.mean(), ""));
    }
    out << ',' << text::csv_field(cell.reason) << '\n';
  }
}

void print_matrix_markdown(std::ostream& out, const HarmMatrix& matrix) {
  out << "# The harm matrix\n\n" << summary_of(matrix) << "\n\n";
  for (const std::string& line : text::wrapped(kAbout, 118)) out << line << '\n';
  out << "\nMade by `" << matrix.command << "`.\n\n";
  bool first = true;
  for (const auto& row : table_of(matrix)) {
    for (const std::string& each : row) out << "| " << each << ' ';
    out << "|\n";
    if (first) {
      for (std::size_t i = 0; i < row.size(); ++i) out << "|---";
      out << "|\n";
    }
    first = false;
  }
  const auto print_named = [&](const char* title, const auto& all) {
    out << "\n## " << title << "\n\n";
    for (const auto& each : all) out << "- **" << each.name << "**: " << each.about << ".\n";
  };
  print_named("The troubles", matrix.troubles);
  print_named("The defences", matrix.defences);
  out << "\n## Cells that do not hold\n\n";
  for_each_broken(matrix, [&](const HarmCell& cell) {
    out << "- " << sentence_of(matrix, cell) << ". "
        << (cell.reason.empty() ? "**No reason: a defect.**" : cell.reason) << '\n';
  });
}

}  // namespace damper::lab
