#include "damper/proxy/data/kept_bytes.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "damper/base/text/words.h"

namespace damper::proxy {
namespace {

// Of cgroup version 2, as a container sees its own. 0: none.
std::size_t cgroup_limit() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::string text;
  return file >> text ? text::find_number<std::size_t>(text).value_or(0) : 0;
}

}  // namespace

std::size_t KeptBytes::default_limit() noexcept {
  struct ::sysinfo machine {};
  std::size_t memory = ::sysinfo(&machine) == 0
                           ? static_cast<std::size_t>(machine.totalram) * machine.mem_unit
                           : std::size_t{1} << 30;
  if (const std::size_t limit = cgroup_limit(); limit > 0) memory = std::min(memory, limit);
  return std::max(memory / 4, kLeast);
}

}  // namespace damper::proxy
