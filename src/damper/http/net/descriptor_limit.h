#pragma once

#include <cstddef>
#include <cstdint>

namespace damper::http {

// File descriptors of the process: their limit, a reserve, and what happens without one.
//
// Why a reserve: connections of clients and to upstreams take every descriptor that there is. What
// an operator needs then (the admin API, a reload, a name lookup) has to find one.
// Model: the kernel returns the lowest free number, so a socket whose number is within the last
// `reserve` of the limit was opened when all others were taken. Servers and dialers close such a
// socket at once, as if there had been none. Everything else may use it.
// Thread safety: all functions may be called concurrently.

// Raises the process's soft limit of file descriptors to its hard limit. A request in flight needs
// one or two; the usual soft limit is 1024.
void raise_descriptor_limit() noexcept;

// Keeps a sixteenth of the soft limit as the reserve, from 8 to 256. Without a call there is none.
// Returns how many descriptors are left for connections.
std::size_t reserve_descriptors() noexcept;

// Of the result of socket() or accept(): whether there is no descriptor for a connection, because
// of errno or of the reserve. True is counted; the caller closes `fd` if it is one.
[[nodiscard]] bool is_out_of_descriptors(int fd, bool may_use_reserve = false) noexcept;

// How often is_out_of_descriptors() was true in this process.
[[nodiscard]] std::uint64_t out_of_descriptors_count() noexcept;

}  // namespace damper::http
