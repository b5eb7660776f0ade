#include "damper/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace damper {

void check_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "damper: check failed: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace damper
