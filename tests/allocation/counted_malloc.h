#pragma once

#include <cstddef>
#include <cstdint>

namespace damper {

// What this thread has done with malloc, and so with operator new, which is made of it. The program
// that links counted_malloc.cc has a malloc in front of the C library's own that counts.
struct Counted {
  std::size_t allocations = 0;
  std::int64_t bytes = 0;        // held now, with what malloc itself needs of them
  std::int64_t peak = 0;         // the most that ever were; to be set back by whoever asks
  std::int64_t failing_in = -1;  // allocations that succeed before one fails; -1: all do
};
extern thread_local Counted counted;

// Does nothing with it; but a compiler that cannot know that must allocate it.
void keep(const void* memory);

// How many allocations a hundred times `what` make, after a first one: the first use of anything
// may allocate (a thread's slot, a stream of draws).
template <class What>
std::size_t count(What what) {
  what();
  const std::size_t before = counted.allocations;
  for (int i = 0; i < 100; ++i) what();
  return counted.allocations - before;
}

}  // namespace damper
