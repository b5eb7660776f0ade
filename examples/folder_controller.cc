// A complete, embedded controller: it makes the files in actual/ equal to those in desired/.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <latch>
#include <thread>

#include "damper/controller.h"

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

// [reconcile]
// Reconciles one file. It compares the actual with the desired state and relies on no event.
damper::Reconcile reconcile(const fs::path& root, const std::string& name) {
  const fs::path actual = root / "actual" / name;
  if (!fs::exists(root / "desired" / name)) {
    fs::remove(actual);
    return damper::done();
  }
  const std::string text = read(root / "desired" / name);
  if (text.empty()) throw std::runtime_error("it is empty; half written?");  // retried later
  if (text.starts_with("#!")) return damper::terminal("scripts are not allowed here");
  if (read(actual) != text) write(actual, text);
  return damper::done();  // or requeue_after(10min), to check without an event
}
// [/reconcile]

struct Log final : damper::engine::EventSink {
  void on_event(const damper::engine::Event& event) noexcept override {
    std::cout << name(event.kind) << ' ' << event.key << '\n';
    if (event.kind == damper::engine::EventKind::parked) parked.count_down();
  }
  std::latch parked{1};
} log_lines;  // or observe::TransitionLog

}  // namespace

int main() {
  const fs::path root = fs::temp_directory_path() / ("damper-folder-" + std::to_string(getpid()));
  for (const char* folder : {"desired", "actual"}) fs::create_directories(root / folder);
  write(root / "desired" / "web.txt", "replicas: 3\n");
  write(root / "desired" / "broken.txt", "");
  write(root / "actual" / "old.txt", "replicas: 9\n");
  // [controller]
  damper::ControllerOptions options{.name = "folder", .workers = 4, .sink = &log_lines};
  options.retries.max_attempts = 4;  // then it is parked, if others succeed
  options.retries.backoff = {.base = 1ms, .cap = 1s};
  damper::Controller<std::string> controller(
      options, [&](const std::string& name) { return reconcile(root, name); });
  const auto scan = [&] {  // every name in either folder; ten adds are one run
    for (const char* folder : {"desired", "actual"}) {
      for (const auto& file : fs::directory_iterator(root / folder))
        controller.add(file.path().filename().string());
    }
  };
  scan();
  while (!log_lines.parked.try_wait()) {  // Other keys have events meanwhile, and succeed.
    controller.add("web.txt");
    std::this_thread::sleep_for(1ms);
  }
  // [/controller]
  for (const auto& key : controller.parked()) std::cout << key.key << ": " << key.why << '\n';
  write(root / "desired" / "broken.txt", "replicas: 1\n");  // The file is corrected:
  scan();                                                   // the next scan runs the key again.
  // [stop]
  for (const auto& left : controller.drain(30s)) std::cout << "unfinished: " << left.key << '\n';
  // [/stop]
  for (const char* name : {"broken.txt", "old.txt", "web.txt"})
    std::cout << name << (fs::exists(root / "actual" / name) ? " is there\n" : " is gone\n");
  return fs::remove_all(root) > 0 ? 0 : 1;
}
