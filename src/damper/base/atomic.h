#pragma once

#include <atomic>

#ifdef DAMPER_STEPPED_ATOMICS
#include DAMPER_STEPPED_ATOMICS
#endif

namespace damper {

// The atomic type of the parts that threads share: std::atomic, the same type. In the program
// tests/interleavings, compiled with DAMPER_STEPPED_ATOMICS (a header), it is a type whose
// operations are the steps of a scheduler.
#ifdef DAMPER_STEPPED_ATOMICS
template <class T>
using Atomic = SteppedAtomic<T>;
#else
template <class T>
using Atomic = std::atomic<T>;
#endif

}  // namespace damper
