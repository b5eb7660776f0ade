# Compiler settings for our own code: C++20, warnings as errors, sanitizers, ccache.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# Everything of ours links this; nothing of it reaches a consumer of the installed library.
add_library(damper_flags INTERFACE)
target_compile_options(damper_flags INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast
  -Wundef -fno-omit-frame-pointer)
if(DAMPER_SANITIZE)
  add_compile_options(-fsanitize=${DAMPER_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DAMPER_SANITIZE})
endif()
if(DAMPER_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
