#include "damper/run/interrupt.h"

#include <array>
#include <csignal>
#include <cstddef>

namespace damper::run {
namespace {

constexpr std::array<int, 2> kSignals = {SIGINT, SIGTERM};
std::atomic<bool> g_flag{false};
std::array<struct sigaction, 2> g_before{};

}  // namespace

Interrupt::Interrupt() {
  g_flag.store(false);
  struct sigaction action {};
  action.sa_handler = [](int) { g_flag.store(true); };
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // The second one does what it always did.
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &g_before[i]);
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &g_before[i], nullptr);
}

const std::atomic<bool>& Interrupt::flag() noexcept { return g_flag; }

}  // namespace damper::run
