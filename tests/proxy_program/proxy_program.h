#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "process.h"

// What the tests of `damper proxy` need beside it: plain sockets, so that nothing of ours talks to
// itself.
namespace damper::proxy_program {

// A listening socket on a free port of 127.0.0.1.
[[nodiscard]] int listening_socket();
[[nodiscard]] std::uint16_t port_of(int fd);

// A server that answers every GET with its name; /slow after half a second.
class Backend {
 public:
  explicit Backend(std::string name);
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  ~Backend();
  [[nodiscard]] std::string url() const;

 private:
  void accept_all();

  const std::string name_;
  const int fd_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

// A whole answer on a connection of its own; empty: there was none within 3 s.
[[nodiscard]] std::string ask(std::uint16_t port, const std::string& request);
// The body of a GET; empty unless it is a 200.
[[nodiscard]] std::string get(std::uint16_t port, const std::string& path);
[[nodiscard]] std::string post(std::uint16_t port, const std::string& path,
                               const std::string& body);

// Callers ask for a page all the time, each on a connection of its own, about a hundred times a
// second each.
class Callers {
 public:
  // `answer` is the body that a good answer has.
  Callers(std::uint16_t port, const std::string& answer, int number = 4);
  Callers(const Callers&) = delete;
  Callers& operator=(const Callers&) = delete;
  ~Callers() { stop(); }

  // Until `count` more have been answered well; false: they were not within 5 s.
  [[nodiscard]] bool wait_for_answers(int more) const;
  // Nobody asks any more.
  void stop();
  [[nodiscard]] int answered() const noexcept { return answered_; }
  [[nodiscard]] int lost() const noexcept { return lost_; }  // No good answer.

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<int> answered_ = 0;
  std::atomic<int> lost_ = 0;
  std::vector<std::thread> threads_;
};

// The process: what it writes to standard output and error is read together.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments,
                   const std::string& program = DAMPER_PROGRAM);
  // Until it says where it is; false: it ended before.
  [[nodiscard]] bool wait_until_it_serves();
  // The next line with that text in it; empty: it ended, or 10 s went by.
  [[nodiscard]] std::string wait_for(const std::string& text);

  drills::Process process;
  std::uint16_t port = 0;   // of the first listener
  std::uint16_t admin = 0;  // 0: none
};

}  // namespace damper::proxy_program
