#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "damper/lab/world/network.h"
#include "damper/lab/world/replica.h"
#include "damper/lab/world/simulation.h"

namespace damper::lab {

// The Services receive messages, work on them in their replicas, and answer.
//
// Model: a delivered message is answered by a `down` fault, refused, queued or worked on. At the
// end of its service time it fails (an `errors` fault), or makes the calls that its service makes
// and waits for all of them; then it is answered and its worker takes the next message.
// An optimistic service has one row: an attempt reads its version, and a second leg writes it.
// With a `handover`, a worker that leaves requests in the queue takes the first of them that much
// later. In between it is free: a request that arrives takes an idle worker or else, before the
// queue, the worker whose handover ends first, which ends it.
// Invariants:
//   (1) Each delivered message is answered or erased once.
//   (2) Working and queued messages agree with the replicas' counts: check().
//   (3) A handover is of one worker: its end takes for no other. There are at most as many
//       handovers as free workers.
// Thread safety: none. Cost: 90 KiB for each replica and service that it calls.
class Services {
 public:
  // Both outlive it.
  Services(Simulation& simulation, Network& network);

  // Sets the replica of an attempt, as the service balances them.
  void choose_replica(Message& message, CallData& caller);
  void on_deliver(Handle handle);
  void on_done(Handle handle);
  // That handover is over.
  void on_take(std::uint32_t server, std::uint64_t number);
  // The caller does not want the answer any more.
  void on_give_up(Handle sent);
  // A call that a message has made is over.
  void on_call_over(const Calls::Operation& call, Verdict verdict);
  // The capacity of the service may have changed.
  void on_capacity(std::size_t service);

  void read(std::size_t index, ServiceTick& tick) const;
  // Aborts unless messages agree with replicas, and `calls` with the calls they wait for.
  void check(std::size_t calls) const;

 private:
  struct Service {
    const ServiceSpec* spec = nullptr;
    std::uint32_t first_server = 0;          // its first replica in servers_
    std::uint32_t turn = 0;                  // of Balance::rotate
    std::uint64_t version = 0;               // of the optimistic row
    std::vector<std::uint32_t> calls;        // services, as in spec->calls
    std::vector<Dependencies> dependencies;  // by call, then by replica
  };

  struct Handover {
    std::uint64_t number = 0;
    timer::EventQueue::Timer end{};
  };

  [[nodiscard]] const ServiceSpec& spec_of(const Message& message) const {
    return *services_[message.service].spec;
  }
  [[nodiscard]] bool is_too_late(const Message& message) const {
    return spec_of(message).heeds_deadline && message.deadline <= sim_.now();
  }
  void work(Handle handle, Message& message);
  void make_calls(Handle handle, Message& message);
  void complete(Handle handle, Message& message);
  void cancel_calls(Handle first);
  void on_free_worker(std::uint32_t server);
  void end_handover(std::uint32_t server);
  void take(std::uint32_t server, std::size_t most = SIZE_MAX);
  void refuse_dropped(std::uint32_t server);
  void refuse(Handle handle, Message& message, Duration retry_after);
  void answer(Handle handle, Message& message, const decide::Report& report);

  Simulation& sim_;
  Network& network_;
  std::vector<Service> services_;
  std::deque<Replica> servers_;                  // They do not move.
  std::vector<std::uint32_t> service_of_;        // by server
  std::vector<std::deque<Handover>> handovers_;  // by server, in order of their beginnings
  std::uint64_t next_handover_ = 0;
};

}  // namespace damper::lab
