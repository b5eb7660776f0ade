# Compiler settings for our own code: C++20, warnings as errors, sanitizers, ccache.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# CMake's own RelWithDebInfo defines NDEBUG. None of our code reads it (DAMPER_CHECK is always
# on), and libraries that do keep their assertions in our tests.
# Line tables alone name the place of a crash, and take a fifth less time to compile than -g.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")

# Packages found by one module's CMakeLists.txt are visible to the programs that link the module.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

find_program(CCACHE ccache)
mark_as_advanced(CCACHE)
if(CCACHE)
  # ccache hashes the sources of a precompiled header (GoogleTest's) only with these options. Paths
  # inside the tree are relative for it, so that another clone finds what this one has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_NOHASHDIR=1
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CCACHE})
endif()

# No fused multiply-add: a product and a sum are rounded separately on every machine, so that the
# lab produces the same trace for the same seed everywhere.
add_compile_options(-ffp-contract=off)

# Sanitizers walk the stack by its frame pointers, which cost instructions in every function. A
# profiler of a release build uses `perf record --call-graph dwarf`.
set(DAMPER_FRAMES)
if(DAMPER_SANITIZE)
  set(DAMPER_FRAMES -fno-omit-frame-pointer)
endif()

# All our targets link this; it does not propagate to users of the installed library.
add_library(damper_flags INTERFACE)
target_compile_options(damper_flags INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast
  -Wundef ${DAMPER_FRAMES} -fno-semantic-interposition)

# Instrumentation must be the same for everything linked together, so it is set for the whole build.
set(DAMPER_INSTRUMENTED OFF)
if(DAMPER_SANITIZE)
  set(DAMPER_INSTRUMENTED ON)
  add_compile_options(-fsanitize=${DAMPER_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DAMPER_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc's warning about uninitialised values has false positives on instrumented code; the plain
    # builds enable it. The same for the allocation of coroutine frames, which asan checks.
    # Bounds and overlaps are guessed wrong in precompiled templates of <string>.
    target_compile_options(damper_flags INTERFACE -Wno-maybe-uninitialized
      -Wno-mismatched-new-delete -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
      -Wno-stringop-overread)
  endif()
  if(DAMPER_SANITIZE MATCHES "thread")
    # Asio has fences, which the thread sanitizer does not support: some are redundant with its
    # mutexes and are disabled, one is in the destruction of a reference-counted object.
    target_compile_definitions(damper_flags INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
    target_compile_options(damper_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  endif()
endif()
if(DAMPER_COVERAGE)
  set(DAMPER_INSTRUMENTED ON)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
if(DAMPER_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "DAMPER_FUZZ needs clang: configure with `cmake --preset fuzz`.")
  endif()
  set(DAMPER_INSTRUMENTED ON)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
