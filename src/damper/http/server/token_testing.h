#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>

namespace damper::http {

// A file with a token in it, for as long as it lives.
class TokenFile {
 public:
  explicit TokenFile(const std::string& text) {
    static std::atomic<int> count{0};
    path_ = (std::filesystem::temp_directory_path() /
             ("damper_token_" + std::to_string(getpid()) + "_" + std::to_string(count++)))
                .string();
    write(text);
  }
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;
  ~TokenFile() { remove(); }

  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  void remove() const { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace damper::http
