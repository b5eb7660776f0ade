#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ask.h"
#include "process.h"

namespace damper::drills {

// A Proxied is `damper proxy` as a process of its own, with a file of its own.
class Proxied {
 public:
  // `policy` is what the file says beside its listener and its admin page: clusters and routes.
  // Returns when it is ready; throws when it does not become so.
  explicit Proxied(std::string_view policy);
  Proxied(const Proxied&) = delete;
  Proxied& operator=(const Proxied&) = delete;
  ~Proxied();

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::uint16_t admin_port() const noexcept { return admin_port_; }
  [[nodiscard]] Process& process() noexcept { return process_; }

  // Writes the file anew. It is seen by whoever watches the file, and by POST /reload.
  void write(std::string_view policy) const;
  // The sum of a metric's series, of those that have all these labels: {"verdict=\"shed\""}.
  [[nodiscard]] double metric(std::string_view name,
                              const std::vector<std::string>& labels = {}) const;
  // Resident memory, in KiB.
  [[nodiscard]] std::int64_t memory() const;

 private:
  const std::uint16_t port_;
  const std::uint16_t admin_port_;
  const std::filesystem::path folder_;
  Process process_;
};

// A `clusters:` with these endpoints, by the name of `backend`, and what else the cluster says.
[[nodiscard]] std::string cluster_of(const std::vector<std::string>& endpoints,
                                     std::string_view rest = {});

}  // namespace damper::drills
