# Compiler settings for our own code: C++20, warnings as errors, sanitizers, ccache.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# CMake's own RelWithDebInfo defines NDEBUG. Nothing of ours reads it (DAMPER_CHECK is always on),
# and the libraries that do shall keep their assertions in our tests.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g")

# What one module's CMakeLists.txt finds, the programs that link the module see as well.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

find_program(CCACHE ccache)
mark_as_advanced(CCACHE)
if(CCACHE)
  # It takes a precompiled header (GoogleTest's) for what it was made of, if it is told to.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

# A product and a sum are rounded apart everywhere: a machine that fuses them would otherwise give
# other bits, and the lab another trace for the same seed.
add_compile_options(-ffp-contract=off)

# Everything of ours links this; nothing of it reaches a consumer of the installed library.
add_library(damper_flags INTERFACE)
target_compile_options(damper_flags INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast
  -Wundef -fno-omit-frame-pointer -fno-semantic-interposition)

# Instrumentation reaches everything that is linked together, so it is set for the whole build.
set(DAMPER_INSTRUMENTED OFF)
if(DAMPER_SANITIZE)
  set(DAMPER_INSTRUMENTED ON)
  add_compile_options(-fsanitize=${DAMPER_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DAMPER_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc's guess at uninitialised values goes wrong on instrumented code; the plain builds ask it.
    # Nor does it know there where the frame of a coroutine came from; asan does.
    target_compile_options(damper_flags INTERFACE -Wno-maybe-uninitialized
      -Wno-mismatched-new-delete)
  endif()
  if(DAMPER_SANITIZE MATCHES "thread")
    # Asio has fences, which the thread sanitizer does not understand: some stand beside its mutexes
    # and can go, one ends the life of what is counted.
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
