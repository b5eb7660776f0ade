#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "damper/base/instant.h"
#include "damper/base/text/chart_text.h"

namespace damper::cli {

// A Table prints rows of cells in aligned columns: the first column to the left, numbers to the
// right.
//
// Model: a cell has an ink, which counts on a terminal alone; what it says has to be said by its
// text. Texts are made printable: names come from somebody else's file.
class Table {
 public:
  struct Cell {
    std::string text{};
    text::Ink ink = text::Ink::calm;
  };
  enum class Side : std::uint8_t { left, right };
  struct Column {
    std::string title;
    Side side = Side::right;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // REQUIRES: as many cells as columns.
  void add(std::vector<Cell> cells);
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  // The titles and at most `most` rows; a last line gives the number of rows left out.
  void print(std::ostream& out, text::ReportStyle style, std::size_t most = 1'000'000) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// A length of time in two or three digits, for people: 80ms, 2.5s, 29m, 3h, 12d; "-" for 0 and
// "forever" for one without an end.
[[nodiscard]] std::string rough(Duration length);
// 0.909 as 90.9%, never rounded up to 100%.
[[nodiscard]] std::string share_text(double share);

}  // namespace damper::cli
