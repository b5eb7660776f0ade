#pragma once

namespace damper::http {

// Raises the process's soft limit of file descriptors to its hard limit. A request in flight needs
// one or two; the usual soft limit is 1024.
void raise_descriptor_limit() noexcept;

}  // namespace damper::http
