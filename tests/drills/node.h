#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "damper/base/instant.h"
#include "process.h"

namespace damper::drills {

// How a node serves; `drill_node key=value ...`.
struct NodeOptions {
  std::uint16_t port = 0;    // port=; 0: any
  Duration work{0};          // work=10ms: what a request takes, waiting
  Duration cpu{0};           // cpu=2ms: what it takes of a processor, on a thread of its own
  int slots = 4;             // slots=: requests that are worked on at once
  bool guard = true;         // guard=no: a queue without end, first come, first served
  Duration stall{0};         // stall=200ms: what some requests take instead
  double stall_percent = 0;  // stall_percent=3: how many
  double reset_percent = 0;  // reset_percent=10: connections that break, half before the work
  std::string store;         // store=memory, or a file of SQLite: idempotency keys
  std::string next;          // next=http://127.0.0.1:81: passes requests on
};

// Serves until it is killed. Prints its port first. GET /stats says "name value" a line:
//   requests   that came        done      that were worked on        refused   by the guard
//   cancelled  whose caller went away while they were worked on
//   late       steps of work done after the caller's deadline, told by drill-deadline
//   effects    different bodies posted    repeated   effects that happened again
//   stalled    stalls that ran to their end
//   cpu_us     processor time of the process
int serve(const NodeOptions& options);

// A node as a process of its own.
class Node {
 public:
  // The words after the program: {"work=10ms", "slots=4"}.
  explicit Node(const std::vector<std::string>& words);

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] Process& process() noexcept { return process_; }
  // What GET /stats says. Blocks.
  [[nodiscard]] std::map<std::string, std::int64_t> stats() const;

 private:
  [[nodiscard]] std::map<std::string, std::int64_t> ask_stats() const;

  Process process_;
  std::uint16_t port_ = 0;
};

}  // namespace damper::drills
