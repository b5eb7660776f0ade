#include "damper/lab/published/published_report.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "damper/base/text/plain_text.h"

namespace damper::lab {
namespace {

constexpr std::size_t kWidth = 100;

// The text of a row, by column.
std::vector<std::string> cells_of(const ReproducedRow& each) {
  const PublishedRow& row = each.row;
  const auto number = [&row](double value) { return number_text(row, value); };
  const std::string unit = row.unit.empty() || row.unit == "/s" ? row.unit : ' ' + row.unit;
  return {row.what,
          number(row.theirs) + unit,
          number(each.ours) + unit,
          number(each.interval.low) + " to " + number(each.interval.high),
          row.tolerance,
          !row.judged   ? "-"
          : each.within ? "yes"
                        : "NO"};
}

const std::vector<std::string>& titles() {
  static const std::vector<std::string> kTitles = {"",         "theirs", "ours", "95 % interval",
                                                   "accepted", "within"};
  return kTitles;
}

// Each once, in their order; none that is empty.
template <typename Of>
std::vector<std::string> distinct(std::span<const ReproducedRow> rows, Of of) {
  std::vector<std::string> all;
  for (const ReproducedRow& each : rows) {
    const std::string& text = of(each);
    if (!text.empty() && std::ranges::find(all, text) == all.end()) all.push_back(text);
  }
  return all;
}

// Calls show(rows) for the rows of each result.
template <typename Show>
void for_each_result(const Reproduction& reproduction, Show show) {
  const std::span<const ReproducedRow> rows = reproduction.rows;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t end = i + 1;
    while (end < rows.size() && rows[end].row.result == rows[i].row.result) ++end;
    show(rows.subspan(i, end - i));
    i = end;
  }
}

void print_wrapped(std::ostream& out, const std::string& text, const text::Painter& paint) {
  for (const std::string& line : text::wrapped(text, kWidth - 2)) {
    out << "  " << paint(text::Ink::faint, line) << '\n';
  }
}

std::string conclusion(const Reproduction& reproduction) {
  std::string text = std::to_string(reproduction.within()) + " of " +
                     std::to_string(reproduction.judged()) + " rows are within tolerance.";
  if (reproduction.interrupted) {
    text += " Interrupted: " + text::with_commas(static_cast<std::int64_t>(reproduction.runs)) +
            " of " + text::with_commas(static_cast<std::int64_t>(reproduction.asked)) +
            " runs are done.";
  }
  return text;
}

// The fields that programs get, by name: text in quotes where text is meant.
struct Field {
  std::string name;
  std::string value;
  bool is_text;
};

std::vector<Field> fields_of(const ReproducedRow& each, std::string_view none) {
  const PublishedRow& row = each.row;
  const auto number = [none](std::string name, double value) {
    return Field{std::move(name), text::for_programs(value, none), false};
  };
  return {
      {"result", row.result, true},
      {"what", row.what, true},
      {"unit", row.unit, true},
      number("theirs", row.theirs),
      number("ours", each.ours),
      number("low", each.interval.low),
      number("high", each.interval.high),
      number("accepted_low", row.low),
      number("accepted_high", row.high),
      {"tolerance", row.tolerance, true},
      {"judged", row.judged ? "true" : "false", false},
      {"within", each.within ? "true" : "false", false},
      {"how", each.how, true},
      {"note", row.note, true},
      {"source", row.source, true},
  };
}

}  // namespace

std::string number_text(const PublishedRow& row, double number) {
  int decimals = 0;
  for (double step = (row.high - row.low) / 20; step < 1 && decimals < 4; step *= 10) ++decimals;
  if (decimals > 0 || std::abs(number) < 1000) return text::fixed_text(number, decimals);
  return text::with_commas(static_cast<std::int64_t>(std::llround(number)));
}

void print_text(std::ostream& out, const Reproduction& reproduction, text::ReportStyle style) {
  const text::Painter paint(style);
  std::vector<std::size_t> widths;
  for (const std::string& title : titles()) widths.push_back(text::text_width(title));
  for (const ReproducedRow& each : reproduction.rows) {
    const auto cells = cells_of(each);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths[i] = std::max(widths[i], text::text_width(cells[i]));
    }
  }
  const auto print_line = [&](const std::vector<std::string>& cells, text::Ink verdict) {
    out << "  " << text::padded_right(cells[0], widths[0]);
    for (std::size_t i = 1; i + 1 < cells.size(); ++i) {
      out << "  " << text::padded_left(cells[i], widths[i]);
    }
    out << "  " << paint(verdict, cells.back()) << '\n';
  };
  for_each_result(reproduction, [&](std::span<const ReproducedRow> rows) {
    out << paint(text::Ink::strong, rows.front().row.result) << '\n';
    for (const std::string& source :
         distinct(rows, [](const ReproducedRow& each) -> auto& { return each.row.source; })) {
      print_wrapped(out, source, paint);
    }
    print_line(titles(), text::Ink::calm);
    for (const ReproducedRow& each : rows) {
      print_line(cells_of(each), !each.row.judged ? text::Ink::faint
                                 : each.within    ? text::Ink::good
                                                  : text::Ink::alarm);
      if (each.row.judged && !each.within) print_wrapped(out, "  " + each.how, paint);
    }
    for (const std::string& note :
         distinct(rows, [](const ReproducedRow& each) -> auto& { return each.row.note; })) {
      print_wrapped(out, "Note: " + note + '.', paint);
    }
    out << '\n';
  });
  out << paint(reproduction.holds() ? text::Ink::good : text::Ink::alarm, conclusion(reproduction))
      << '\n';
}

void print_json(std::ostream& out, const Reproduction& reproduction) {
  const auto word = [](bool value) { return value ? "true" : "false"; };
  out << R"({"kind":"reproduction","runs":)" << reproduction.runs
      << ",\"asked_runs\":" << reproduction.asked
      << ",\"interrupted\":" << word(reproduction.interrupted)
      << ",\"judged\":" << reproduction.judged() << ",\"within\":" << reproduction.within()
      << ",\"holds\":" << word(reproduction.holds()) << ",\"rows\":[";
  bool first = true;
  for (const ReproducedRow& each : reproduction.rows) {
    out << (first ? "{" : ",{");
    first = false;
    bool first_field = true;
    for (const Field& field : fields_of(each, "null")) {
      out << (first_field ? "\"" : ",\"") << field.name
          << "\":" << (field.is_text ? text::json_string(field.value) : field.value);
      first_field = false;
    }
    out << '}';
  }
  out << "]}\n";
}

void print_csv(std::ostream& out, const Reproduction& reproduction) {
  const auto print_line = [&out](const ReproducedRow& each, auto&& text_of) {
    bool first = true;
    for (const Field& field : fields_of(each, "")) {
      out << (first ? "" : ",") << text_of(field);
      first = false;
    }
    out << '\n';
  };
  print_line({}, [](const Field& field) { return field.name; });
  for (const ReproducedRow& each : reproduction.rows) {
    print_line(each, [](const Field& field) { return text::csv_field(field.value); });
  }
}

}  // namespace damper::lab
