# What damper_precompile() compiles once: for each kind the headers, and the target that finds them.
# Parsing these takes half of the time of a source (docs/design/0017).
set(DAMPER_PRECOMPILED_std <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <cstdint>
  <deque> <functional> <limits> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string>
  <string_view> <system_error> <thread> <utility> <variant> <vector>)

set(DAMPER_PRECOMPILED_gtest <gtest/gtest.h>)
set(DAMPER_PRECOMPILED_LINK_gtest GTest::gtest_main)

set(DAMPER_PRECOMPILED_asio <boost/asio/awaitable.hpp> <boost/asio/bind_cancellation_slot.hpp>
  <boost/asio/co_spawn.hpp> <boost/asio/executor_work_guard.hpp> <boost/asio/io_context.hpp>
  <boost/asio/ip/tcp.hpp> <boost/asio/post.hpp> <boost/asio/steady_timer.hpp>
  <boost/asio/use_awaitable.hpp>)
set(DAMPER_PRECOMPILED_LINK_asio Boost::headers)

set(DAMPER_PRECOMPILED_cli11 <CLI/CLI.hpp>)
set(DAMPER_PRECOMPILED_LINK_cli11 CLI11::CLI11)
