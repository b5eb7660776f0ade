#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace damper::observe {

// For tests: what promtool, Prometheus' own reader and linter, says about a text; empty: nothing.
[[nodiscard]] inline std::string promtool(const std::string& text) {
  const std::string stem =
      (std::filesystem::temp_directory_path() / ("damper_promtool_" + std::to_string(getpid())))
          .string();
  const std::string in = stem + ".in";
  const std::string out = stem + ".out";
  std::FILE* file = std::fopen(in.c_str(), "wb");
  if (file == nullptr) return "cannot write " + in;
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
  const int status =
      std::system(("promtool check metrics < '" + in + "' > '" + out + "' 2>&1").c_str());
  std::string said;
  file = std::fopen(out.c_str(), "rb");
  if (file == nullptr) return "cannot read " + out;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) said += static_cast<char>(c);
  std::fclose(file);
  std::remove(in.c_str());
  std::remove(out.c_str());
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == 127) return "promtool is missing: install the package prometheus";
  return code == 0 ? said : "exit status " + std::to_string(code) + ": " + said;
}

}  // namespace damper::observe
