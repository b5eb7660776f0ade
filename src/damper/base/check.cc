#include "damper/base/check.h"

#include <cstdio>
#include <cstdlib>

// Not in a group: tests/core knows its object, the only one of the core that prints, by its name.
namespace damper {

void check_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "damper: check failed: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace damper
