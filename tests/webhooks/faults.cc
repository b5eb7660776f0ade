// Faults of a running dispatcher, by LD_PRELOAD: a wall clock that is wrong, a disk that is full.
// The file named by DAMPER_FAULTS has what is wrong now: an int64 with the shift of the wall clock
// in nanoseconds, and an int64 that is not 0 while pwrite() finds no space. A test writes into it
// at any time. SQLite writes its files by pwrite(); the log is written by write().
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

struct Faults {
  std::atomic<std::int64_t> shift_ns;
  std::atomic<std::int64_t> full;
};

const Faults& faults() {
  static Faults none{};
  static const Faults* const kMapped = [] {
    const char* const path = std::getenv("DAMPER_FAULTS");
    const int file = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return &none;
    void* const at = ::mmap(nullptr, sizeof(Faults), PROT_READ, MAP_SHARED, file, 0);
    (void)::close(file);
    return at == MAP_FAILED ? &none : static_cast<Faults*>(at);
  }();
  return *kMapped;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static auto* const kReal = next<int(clockid_t, timespec*)>("clock_gettime");
  const int result = kReal(clock, time);
  if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
  const std::int64_t shifted = static_cast<std::int64_t>(time->tv_sec) * 1'000'000'000 +
                               time->tv_nsec + faults().shift_ns.load();
  time->tv_sec = shifted / 1'000'000'000;
  time->tv_nsec = shifted % 1'000'000'000;
  return result;
}

ssize_t pwrite64(int file, const void* bytes, std::size_t size, off64_t at) {
  static auto* const kReal = next<ssize_t(int, const void*, std::size_t, off64_t)>("pwrite64");
  if (faults().full.load() == 0) return kReal(file, bytes, size, at);
  errno = ENOSPC;
  return -1;
}
ssize_t pwrite(int file, const void* bytes, std::size_t size, off_t at) {
  return pwrite64(file, bytes, size, at);
}

}  // extern "C"
