#include "damper/proxy/data/shared_gate.h"

#include <bit>

#include "damper/base/check.h"

namespace damper::proxy {
namespace {

constexpr std::uint64_t bit_of(std::size_t number) { return std::uint64_t{1} << number % 64; }

}  // namespace

SharedGate::SharedGate(const http::AdmissionOptions& options, std::size_t loops)
    : limit_(options.limit),
      line_(static_cast<std::size_t>(options.queue.capacity)),
      slots_(loops),
      words_((loops + 63) / 64) {
  DAMPER_CHECK(loops > 0 && loops <= kMostLoops);
}

void SharedGate::reload(const http::AdmissionOptions& options) {
  limit_.reload(options.limit);
  line_.reload(static_cast<std::size_t>(options.queue.capacity));
  share_out(kNoLoop);
}

void SharedGate::join(std::size_t number, http::Loop& loop, Side& side) {
  DAMPER_CHECK(number < slots_.size());
  Slot& slot = slots_[number];
  DAMPER_CHECK(slot.side == nullptr && (slot.loop == nullptr || slot.loop == &loop));
  if (slot.loop == nullptr) slot.loop = &loop;
  slot.side = &side;
}

void SharedGate::part(std::size_t number) noexcept {
  (void)try_withdraw(number);
  slots_[number].side = nullptr;
}

void SharedGate::ask(std::size_t number, admit::Criticality criticality) noexcept {
  tell(number, criticality);
  wanting_[number / 64].fetch_or(bit_of(number), std::memory_order_seq_cst);
}

void SharedGate::tell(std::size_t number, admit::Criticality criticality) noexcept {
  slots_[number].criticality.store(criticality, std::memory_order_relaxed);
}

bool SharedGate::try_withdraw(std::size_t number) noexcept {
  const std::uint64_t bit = bit_of(number);
  return (wanting_[number / 64].fetch_and(~bit, std::memory_order_seq_cst) & bit) != 0;
}

void SharedGate::give_away(std::size_t from) {
  // Each round gives a place away, or somebody else has in the meantime.
  while (someone_waits() && limit_.try_acquire()) {
    const std::size_t to = claim();
    if (to == kNoLoop) {
      limit_.release_ignored();  // And look again: who asked meanwhile has found it taken.
    } else {
      hand_over(to, from);
    }
  }
}

// The bit of the next loop that wants a place, taken; kNoLoop: there is none any more.
std::size_t SharedGate::claim() noexcept {
  for (;;) {
    const std::size_t found = find_next();
    if (found == kNoLoop) return kNoLoop;
    if (!try_withdraw(found)) continue;
    turn_.store(found + 1, std::memory_order_relaxed);
    return found;
  }
}

// The most critical; of equals the first from the one whose turn it is.
std::size_t SharedGate::find_next() const noexcept {
  const std::size_t turn = turn_.load(std::memory_order_relaxed);
  std::size_t best = kNoLoop;
  admit::Criticality best_criticality{};
  for (std::size_t word = 0; word < words_; ++word) {
    std::uint64_t bits = wanting_[word].load(std::memory_order_seq_cst);
    for (; bits != 0; bits &= bits - 1) {
      const std::size_t number = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      const auto criticality = slots_[number].criticality.load(std::memory_order_relaxed);
      // In order of the numbers: one whose turn is still to come is before those that have had it.
      const bool sooner = best != kNoLoop && best < turn && number >= turn;
      if (best == kNoLoop || criticality < best_criticality ||
          (criticality == best_criticality && sooner)) {
        best = number;
        best_criticality = criticality;
      }
    }
  }
  return best;
}

void SharedGate::hand_over(std::size_t to, std::size_t from) {
  if (to == from) return slots_[to].side->on_place();
  slots_[to].loop->post([self = shared_from_this(), to] { self->arrive(to); });
}

// On the loop of that number. Its gate may be gone.
void SharedGate::arrive(std::size_t number) {
  if (slots_[number].side == nullptr) return hand_on(number);
  slots_[number].side->on_place();
}

}  // namespace damper::proxy
