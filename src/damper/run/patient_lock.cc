#include "damper/run/patient_lock.h"

namespace damper::run {
namespace {

// Some 25 ns on today's machines.
void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace

void internal::lock_after_a_while(std::mutex& mutex) {
  for (int asked = 0; asked < 8; ++asked) {
    for (int i = 0; i < 100; ++i) pause();
    if (mutex.try_lock()) return;
  }
  mutex.lock();
}

}  // namespace damper::run
