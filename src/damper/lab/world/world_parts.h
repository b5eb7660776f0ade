#ifndef DAMPER_LAB_WORLD_WORLD_PARTS_H_
#define DAMPER_LAB_WORLD_WORLD_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "damper/engine/dependency.h"
#include "damper/lab/record/recorder.h"
#include "damper/base/trace_hash.h"
#include "damper/lab/world/arrivals.h"
#include "damper/lab/world/callers.h"
#include "damper/lab/world/fleet.h"
#include "damper/lab/world/replica.h"
#include "damper/lab/world/streams.h"
#include "damper/lab/world/weather.h"
#include "damper/lab/world/world.h"
#include "damper/timer/event_queue.h"

// What world.h's play() is made of: one class, whose methods are in world.cc (the loop),
// world_clients.cc, world_controllers.cc, world_messages.cc and world_services.cc.

namespace damper::lab {

// What an event is. Its number is what the queue carries, so it converts.
struct Kind {
  enum Word : std::uint32_t {
    begin,     // a source's time has come; subject: clients, detail: nth << 32 | source
    wake,      // a call wants to be woken: Callers'
    deliver,   // a message arrives at its replica; detail: the message
    done,      // its service time is over
    take,      // a worker looks at the queue; subject: the replica
    answer,    // the answer arrives at the caller
    fault_on,  // subject: the fault
    fault_off,
    event,   // something happens to an object; subject: the fleet, detail: the controller
    resync,  // a controller adds all of its keys; the same
    queue,   // a controller looks at its queue; the same
  };
};

// An attempt on its way: to a replica, through it, and back.
struct Message {
  Handle caller;
  std::uint64_t number = 0;  // its request's
  Instant arrived{};         // at the replica
  Instant deadline = kNever;
  timer::EventQueue::Timer timer{};
  std::uint64_t version = 0;  // of an optimistic row, as it was read
  double cost = 1;            // times its service time
  std::uint32_t replica = 0;  // in replicas_
  std::uint32_t service = 0;
  std::uint32_t attempt = 1;
  std::uint32_t calls = 0;      // that it waits for
  Handle first_call{};          // one of them, which knows the others
  WaitLine::Place in_line = 0;  // its place at the replica, while it waits
  decide::Report report{};
  enum class Stage : std::uint8_t { travels, waits, works, returns };
  Stage stage = Stage::travels;
  bool hedge = false;
  bool has_read = false;     // the first leg of an optimistic write
  bool owned_above = false;  // somebody above retries it
  bool unsent_owned_above = false;
  bool again = false;                       // a controller's, whose key failed the last time
  std::optional<decide::Outcome> broken{};  // what it is answered, whatever the service does
  admit::Criticality criticality = admit::Criticality::critical;
};

// What one caller, a client's process or a replica, shares among its calls to one service.
using Dependencies = std::vector<std::unique_ptr<engine::Dependency>>;

struct Service {
  const ServiceSpec* spec = nullptr;
  std::uint32_t first_replica = 0;  // in replicas_
  std::uint32_t turn = 0;
  std::uint64_t version = 0;
  std::vector<std::uint32_t> calls;        // services, as in spec->calls
  std::vector<Dependencies> dependencies;  // by call, then by replica
};

// What a process keeps for Stopping.
struct Patience {
  double requests = 0;
  double failures = 0;
  double tokens = 0;
};

struct Group {
  const ClientsSpec* spec = nullptr;
  std::uint32_t service = 0;
  Dependencies dependencies;       // by process
  std::vector<Patience> patience;  // by process
  std::uint32_t in_flight = 0;
};

// The controllers of a group, and what the world keeps for them.
struct Controllers {
  const ControllersSpec* spec = nullptr;
  std::uint32_t service = 0;
  std::unique_ptr<Fleet> fleet;
  // A run is a call of one attempt: nothing is shared by the calls that would tell them apart.
  std::unique_ptr<engine::Dependency> dependency;
  struct Timer {
    timer::EventQueue::Timer timer{};
    Instant at = kNever;
  };
  std::vector<Timer> timers;  // by controller: when it looks at its queue
};

class World final : private Wire, private Levels {
 public:
  World(const Scenario& scenario, const PlayOptions& options);
  Record play();

 private:
  // Clients.
  void on_begin(std::uint32_t index, std::uint64_t detail);
  void begin_request(std::uint32_t index, std::uint32_t client, std::uint32_t nth);
  void on_request_over(const Operation& caller, Verdict verdict);
  [[nodiscard]] bool gives_up(const Operation& caller, const Message& message);

  // Controllers.
  void add_controllers(const ControllersSpec& spec, std::uint32_t index);
  void on_event(std::uint32_t index, std::uint32_t controller);
  void on_resync(std::uint32_t index, std::uint32_t controller);
  void on_queue(std::uint32_t index, std::uint32_t controller);
  void look(std::uint32_t index, std::uint32_t controller);
  void begin_run(std::uint32_t index, const Fleet::Run& run);
  void on_run_over(const Operation& caller, Verdict verdict);
  [[nodiscard]] std::size_t waiting_keys() const;

  // Messages.
  Handle on_send(Handle operation, Operation& caller, const engine::Attempt& attempt) override;
  void on_give_up(Handle sent) override;
  void on_over(const Operation& caller, Verdict verdict) override;
  [[nodiscard]] std::uint32_t choose_replica(Operation& caller, std::uint32_t attempt);
  void travel(Handle handle, Message& message, Kind::Word kind, std::uint64_t leg);
  [[nodiscard]] bool is_held_up(Handle handle, const Message& message, Kind::Word kind);
  void on_answer(Handle handle);

  // Services.
  void on_deliver(Handle handle);
  void on_write(Handle handle, Message& message);
  void work(Handle handle, Message& message);
  void on_done(Handle handle);
  void make_calls(Handle handle, Message& message);
  void complete(Handle handle, Message& message);
  void drop_calls(Handle first);
  void on_free_worker(std::uint32_t index);
  void take(std::uint32_t index, std::size_t most = SIZE_MAX);
  void clear_dropped(std::uint32_t index);
  void refuse(Handle handle, Message& message, Duration retry_after);
  void answer(Handle handle, Message& message, const decide::Report& report);

  [[nodiscard]] bool is_too_late(const Message& message) const {
    return spec_of(message).heeds_deadline && message.deadline <= queue_.now();
  }

  void turn_fault(std::size_t fault, bool on);
  void check();
  void dispatch(const timer::TimedEvent& event);

  void read(std::size_t index, ServiceTick& tick) const override;
  void read(std::size_t clients, Instant now, ClientsTick& tick) const override;
  void read(std::size_t controllers, Instant now, ControllersTick& tick) const override;

  [[nodiscard]] const ServiceSpec& spec_of(const Message& message) const {
    return *services_[message.service].spec;
  }
  // Which draw of a purpose is the message's: its attempt, and the leg if it reads and writes.
  [[nodiscard]] static std::uint64_t draw_of(const Message& message) {
    return std::uint64_t{message.has_read} << 32 | message.attempt;
  }
  [[nodiscard]] std::size_t place_of(const Message& message) const {
    return message.replica - services_[message.service].first_replica;
  }

  const Scenario& scenario_;
  const PlayOptions options_;
  const Streams streams_;
  timer::EventQueue queue_;
  Weather weather_;
  Callers callers_;
  Slab<Message> messages_;
  std::vector<Service> services_;
  std::deque<Replica> replicas_;           // They do not move.
  std::vector<std::uint32_t> service_of_;  // by replica
  std::vector<Group> groups_;
  std::vector<Arrivals> arrivals_;
  std::vector<Controllers> controllers_;
  Slab<Fleet::Run> runs_;  // under way
  Recorder recorder_;
  TraceHash hash_;
};

}  // namespace damper::lab

#endif  // DAMPER_LAB_WORLD_WORLD_PARTS_H_
