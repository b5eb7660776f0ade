#include "counted_malloc.h"

#include <malloc.h>

#include <algorithm>
#include <cerrno>

namespace damper {

thread_local Counted counted;

void keep(const void*) {}

namespace {

// Whether this one is to fail.
bool fails() {
  ++counted.allocations;
  return counted.failing_in >= 0 && counted.failing_in-- == 0;
}
std::int64_t size_of(void* memory) {
  return memory == nullptr ? 0 : static_cast<std::int64_t>(malloc_usable_size(memory) + 8);
}
void* hold(void* memory) {
  counted.bytes += size_of(memory);
  counted.peak = std::max(counted.peak, counted.bytes);
  return memory;
}
void* refuse() {
  errno = ENOMEM;
  return nullptr;
}

}  // namespace
}  // namespace damper

// In front of the C library's own, which glibc keeps under this name.
extern "C" {
void* __libc_malloc(std::size_t);                 // NOLINT
void* __libc_calloc(std::size_t, std::size_t);    // NOLINT
void* __libc_realloc(void*, std::size_t);         // NOLINT
void* __libc_memalign(std::size_t, std::size_t);  // NOLINT
void __libc_free(void*);                          // NOLINT

void* malloc(std::size_t size) {
  return damper::fails() ? damper::refuse() : damper::hold(__libc_malloc(size));
}
void* calloc(std::size_t number, std::size_t size) {
  return damper::fails() ? damper::refuse() : damper::hold(__libc_calloc(number, size));
}
void* realloc(void* old, std::size_t size) {
  if (damper::fails()) return damper::refuse();
  damper::counted.bytes -= damper::size_of(old);
  return damper::hold(__libc_realloc(old, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return damper::fails() ? damper::refuse() : damper::hold(__libc_memalign(alignment, size));
}
void free(void* memory) {
  damper::counted.bytes -= damper::size_of(memory);
  __libc_free(memory);
}
}
