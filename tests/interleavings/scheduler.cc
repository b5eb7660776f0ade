#include "tests/interleavings/scheduler.h"

#include "damper/base/check.h"
#include "damper/base/thread_slot.h"

namespace damper::interleavings {

Scheduler::Scheduler(int threads) {
  for (int i = 0; i < threads; ++i) {
    fibers_.push_back(std::make_unique<Fiber>());
    fibers_.back()->stack.resize(kStack);
  }
}

std::size_t Scheduler::run(const Body& body, int first, std::span<const Preemption> preemptions) {
  body_ = &body;
  preemptions_ = preemptions;
  random_ = nullptr;
  return run_all(first);
}

std::size_t Scheduler::run(const Body& body, Random& random, double probability) {
  body_ = &body;
  preemptions_ = {};
  random_ = &random;
  probability_ = probability;
  return run_all(static_cast<int>(random.draw() * static_cast<double>(fibers_.size())));
}

std::size_t Scheduler::run_all(int first) {
  // The fibers share a thread, and must not share its slot: the shared one adds atomically.
  internal::this_thread_slot = kSharedSlot;
  for (std::size_t i = 0; i < fibers_.size(); ++i) {
    Fiber& fiber = *fibers_[i];
    fiber.ended = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(&Scheduler::enter), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
  }
  trace_.clear();
  step_ = slice_ = 0;
  waits_ = 0;
  last_ = nullptr;
  in_vain_ = false;
  running_ = first;
  Stepper::current = this;
  if (traces_) trace_ += "thread " + std::to_string(first) + ":\n";
  swapcontext(&main_, &fibers_[static_cast<std::size_t>(first)]->context);
  Stepper::current = nullptr;
  return in_vain_ || !preemptions_.empty() ? 0 : step_;
}

void Scheduler::enter(unsigned high, unsigned low) {
  auto* const self = reinterpret_cast<Scheduler*>(static_cast<std::uintptr_t>(high) << 32 | low);
  (*self->body_)(self->running_);
  self->fibers_[static_cast<std::size_t>(self->running_)]->ended = true;
  const int next = self->next_alive();
  if (next >= 0) self->switch_to(next, "ended");
  setcontext(&self->main_);
}

int Scheduler::next_alive() const {
  const int count = static_cast<int>(fibers_.size());
  for (int i = 1; i < count; ++i) {
    const int thread = (running_ + i) % count;
    if (!fibers_[static_cast<std::size_t>(thread)]->ended) return thread;
  }
  return -1;
}

void Scheduler::switch_to(int thread, const char* why) {
  if (traces_) {
    trace_ += "  " + std::string(why) + " at step " + std::to_string(step_) + "\nthread " +
              std::to_string(thread) + ":\n";
  }
  Fiber& from = *fibers_[static_cast<std::size_t>(running_)];
  running_ = thread;
  slice_ = 0;
  waits_ = 0;
  last_ = nullptr;
  swapcontext(&from.context, &fibers_[static_cast<std::size_t>(thread)]->context);
}

void Scheduler::on_step(const void* address) noexcept {
  ++step_;
  DAMPER_CHECK(step_ < kMostSteps);  // Or the threads wait for each other.
  waits_ = address == last_ ? waits_ + 1 : 0;
  last_ = address;
  if (waits_ >= kLongestWait || ++slice_ >= kLongestSlice) {
    const int next = next_alive();
    if (next >= 0) switch_to(next, "waits");
    return;
  }
  if (random_ != nullptr) {
    if (random_->draw() >= probability_) return;
    const int next = next_alive();
    if (next >= 0) switch_to(next, "preempted");
    return;
  }
  if (preemptions_.empty() || preemptions_.front().step != step_) return;
  const int to = preemptions_.front().to;
  preemptions_ = preemptions_.subspan(1);
  if (to == running_ || fibers_[static_cast<std::size_t>(to)]->ended) {
    in_vain_ = true;
    return;
  }
  switch_to(to, "preempted");
}

void Scheduler::note(const char* text) {
  auto* const self = static_cast<Scheduler*>(Stepper::current);
  if (self != nullptr && self->traces_) self->trace_ += std::string("  ") + text + "\n";
}

}  // namespace damper::interleavings
