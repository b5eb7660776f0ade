// Runs a fuzz harness with the empty input and every file of the given folders, without libFuzzer:
// a corpus can be replayed with any compiler and sanitizer.
//
//   retry_after_replay fuzz/corpus/retry_after

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void replay(const std::filesystem::path& file) {
  // Printed before the run: after a crash the last line is the input.
  std::printf("%s\n", file.c_str());
  std::fflush(stdout);
  std::ifstream in(file, std::ios::binary);
  // Exactly as large as the input, so that a sanitizer detects a read past its end.
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  const std::vector<std::uint8_t> data(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(data.data(), data.size());
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint8_t nothing = 0;
  LLVMFuzzerTestOneInput(&nothing, 0);
  std::size_t inputs = 1;
  for (int i = 1; i < argc; ++i) {
    for (const auto& file : files_in(argv[i])) {
      replay(file);
      ++inputs;
    }
  }
  std::printf("%zu inputs\n", inputs);
  return 0;
}
