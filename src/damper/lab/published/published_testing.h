#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "damper/lab/published/published.h"

namespace damper::lab {

// The row of that name after `runs` runs: a sample of what `damper lab reproduce` makes in full.
inline ReproducedRow reproduced_row(const std::string& what, std::size_t runs) {
  for (const ReproducedRow& each : reproduce({.only = what, .most_runs = runs}).rows) {
    if (each.row.what == what) return each;
  }
  ADD_FAILURE() << "no row " << what;
  return {};
}

}  // namespace damper::lab
