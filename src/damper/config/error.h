#pragma once

#include <string>

namespace damper::config {

// Where something stands in a policy file; both count from 1. Line 0 is the file as a whole.
struct SourceLocation {
  int line = 0;
  int column = 0;
  friend bool operator==(const SourceLocation&, const SourceLocation&) = default;
};

// An Error is why a policy file is not loaded: one sentence and its place. A Note has the same
// form: the file is loaded, and its reader should know this about it.
struct Error {
  std::string file;
  SourceLocation place;
  std::string sentence;
  bool about_overload = false;  // Of a Note: the file asks for retries of an overload.
};
using Note = Error;

// FILE:LINE:COLUMN: sentence
[[nodiscard]] inline std::string to_string(const Error& error) {
  std::string text = error.file;
  if (error.place.line > 0) {
    text += ':' + std::to_string(error.place.line) + ':' + std::to_string(error.place.column);
  }
  return text + ": " + error.sentence;
}

}  // namespace damper::config
