#include "proxied.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace damper::drills {
namespace {

std::filesystem::path folder_of(std::uint16_t port) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("damper-proxied-" + std::to_string(getpid()) + '-' + std::to_string(port));
  std::filesystem::create_directories(folder);
  return folder;
}

}  // namespace

Proxied::Proxied(std::string_view policy)
    : port_(free_port()),
      admin_port_(free_port()),
      folder_(folder_of(port_)),
      process_((write(policy),
                Process({DAMPER_PROGRAM, "proxy", "-c", (folder_ / "damper.yaml").string()}))) {
  for (int i = 0; i < 500; ++i) {
    if (ask(admin_port_, "GET", "/readyz").status == 200) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw std::runtime_error("damper proxy does not become ready");
}

Proxied::~Proxied() {
  process_.kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Proxied::write(std::string_view policy) const {
  const auto next = folder_ / "next.yaml";
  std::ofstream(next) << "listeners: { drill: { address: 127.0.0.1:" << port_
                      << " } }\nadmin: { address: 127.0.0.1:" << admin_port_ << " }\n"
                      << policy;
  std::filesystem::rename(next, folder_ / "damper.yaml");
}

double Proxied::metric(std::string_view name, const std::vector<std::string>& labels) const {
  std::istringstream page(ask(admin_port_, "GET", "/metrics").body);
  double sum = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with(name)) continue;
    const std::string_view rest = std::string_view(line).substr(name.size());
    if (!rest.starts_with('{') && !rest.starts_with(' ')) continue;
    if (!std::ranges::all_of(labels, [&](const std::string& label) {
          return rest.find(label) != std::string_view::npos;
        })) {
      continue;
    }
    sum += std::stod(line.substr(line.rfind(' ')));
  }
  return sum;
}

std::int64_t Proxied::memory() const {
  std::ifstream status("/proc/" + std::to_string(process_.pid()) + "/status");
  for (std::string word; status >> word;) {
    std::int64_t kib = 0;
    if (word == "VmRSS:" && status >> kib) return kib;
  }
  return 0;
}

std::string cluster_of(const std::vector<std::string>& endpoints, std::string_view rest) {
  std::string text = "clusters:\n  backend:\n    endpoints: [";
  for (const std::string& endpoint : endpoints) text += '"' + endpoint + "\", ";
  text += "]\n";
  return text.append(rest);
}

}  // namespace damper::drills
