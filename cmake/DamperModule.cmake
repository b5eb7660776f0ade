# damper_module(NAME [FOLDERS folder...] [DEPS module...] [LINK library...] [PROGRAM name]
#   [PRECOMPILE kind...] [OPTIONS option...] [TOGETHER])
#
# One library: damper_NAME from the *.cc of FOLDERS (default: the folder of this call), their
# *_test.cc as one test program, their *_bench.cc as part of damper_bench, and each header compiled
# alone, so that no header relies on another header's includes. DEPS are our own modules: this is
# the dependency rule, and tools/tidy checks the includes against it. LINK are libraries of the
# distribution. PROGRAM builds bin/name from main.cc. PRECOMPILE: see
# damper_precompile(). OPTIONS are compiler options of the library's sources. TOGETHER: see
# damper_test().
function(damper_module NAME)
  cmake_parse_arguments(ARG "TOGETHER" "PROGRAM" "FOLDERS;DEPS;LINK;PRECOMPILE;OPTIONS"
    ${ARGN})
  set(target damper_${NAME})
  if(NOT ARG_FOLDERS)
    set(ARG_FOLDERS .)
  endif()

  foreach(kind sources:*.cc headers:*.h tests:*_test.cc benches:*_bench.cc)
    string(REGEX REPLACE "^(.*):(.*)$" "\\1;\\2" kind ${kind})
    list(GET kind 0 list)
    list(GET kind 1 pattern)
    list(TRANSFORM ARG_FOLDERS APPEND /${pattern} OUTPUT_VARIABLE patterns)
    file(GLOB ${list} CONFIGURE_DEPENDS ${patterns})
  endforeach()
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|/main)\\.cc$")

  list(TRANSFORM ARG_DEPS PREPEND damper_)
  if(sources)
    add_library(${target} STATIC ${sources})
    set(visibility PUBLIC)
    damper_group(${target})
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:damper_flags>)
    if(DAMPER_INSTRUMENTED OR ARG_OPTIONS)
      # Not with -O2: gcc 12 takes precompiled templates for ours, and warns of bounds in <string>.
      damper_precompile(${target} ${ARG_PRECOMPILE} OPTIONS ${ARG_OPTIONS})
    endif()
  else()
    add_library(${target} INTERFACE)
    set(visibility INTERFACE)
  endif()
  target_include_directories(${target} ${visibility} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  target_compile_features(${target} ${visibility} cxx_std_20)
  target_link_libraries(${target} ${visibility} ${ARG_DEPS} ${ARG_LINK})
  set_target_properties(${target} PROPERTIES DAMPER_HEADERS "${headers}" DAMPER_LINK "${ARG_LINK}")
  set_property(GLOBAL APPEND PROPERTY DAMPER_MODULES ${target})

  if(ARG_PROGRAM)
    add_executable(damper_program_${ARG_PROGRAM} main.cc)
    set_target_properties(damper_program_${ARG_PROGRAM} PROPERTIES OUTPUT_NAME ${ARG_PROGRAM})
    target_link_libraries(damper_program_${ARG_PROGRAM} PRIVATE damper_flags ${target})
    set_property(GLOBAL APPEND PROPERTY DAMPER_PROGRAMS damper_program_${ARG_PROGRAM})
  endif()
  if(DAMPER_TESTS)
    damper_check_headers(${target} ${headers})
    if(tests)
      set(together "")
      if(ARG_TOGETHER)
        set(together TOGETHER)
      endif()
      damper_test(${NAME}_test ${together} SOURCES ${tests} DEPS ${target}
        PRECOMPILE ${ARG_PRECOMPILE})
    endif()
  endif()
  if(benches)
    set_property(GLOBAL APPEND PROPERTY DAMPER_BENCH_SOURCES ${benches})
    set_property(GLOBAL APPEND PROPERTY DAMPER_BENCH_DEPS ${target})
  endif()
endfunction()

# damper_check_headers(TARGET header...)
# Compiles a file for each header that includes nothing else, and includes it twice. Nothing runs
# it, so it is not optimised, and only builds without DAMPER_GROUPS have it: `dev`, and `lint`,
# whose clang-tidy reads these files. A header with a source of its name needs none: that includes
# it first (tools/tidy sees to it).
function(damper_check_headers TARGET)
  if(DAMPER_INSTRUMENTED OR DAMPER_GROUPS)
    return()
  endif()
  set(files "")
  foreach(header IN LISTS ARGN)
    string(REGEX REPLACE "\\.h$" "" concept ${header})
    if(EXISTS ${concept}.cc)
      continue()
    endif()
    cmake_path(RELATIVE_PATH header BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src
      OUTPUT_VARIABLE include)
    set(file ${PROJECT_BINARY_DIR}/headers/${include}.cc)
    file(CONFIGURE OUTPUT ${file} @ONLY
      CONTENT "#include \"@include@\"\n#include \"@include@\"  // Twice: it has a guard.\n")
    list(APPEND files ${file})
  endforeach()
  if(files)
    add_library(${TARGET}_headers OBJECT ${files})
    target_link_libraries(${TARGET}_headers PRIVATE damper_flags ${TARGET})
    target_compile_options(${TARGET}_headers PRIVATE -O0 -g0)
  endif()
endfunction()

# damper_test(NAME SOURCES file... DEPS target... [PRECOMPILE kind...] [TIMEOUT seconds]
#   [RUN_SERIAL] [TOGETHER])
# One GoogleTest program; each TEST is a ctest of its own, with a time limit. DAMPER_TEST_OPTIONS
# are for its own sources. RUN_SERIAL: nothing else runs beside it. TOGETHER: all of them are one
# ctest, because they share a server that takes a second to start. Under the thread sanitizer only
# those are left that tools/threaded names, and no program is made of none.
function(damper_test NAME)
  cmake_parse_arguments(ARG "RUN_SERIAL;TOGETHER" "TIMEOUT" "SOURCES;DEPS;PRECOMPILE" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(DAMPER_INSTRUMENTED)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 5")  # A sanitizer costs as much.
  endif()
  if(DAMPER_SANITIZE STREQUAL "thread")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARG_SOURCES})
    execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/threaded ${ARG_SOURCES}
      WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} COMMAND_ERROR_IS_FATAL ANY
      OUTPUT_VARIABLE ARG_SOURCES OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REPLACE "\n" ";" ARG_SOURCES "${ARG_SOURCES}")
    if(NOT ARG_SOURCES)
      return()
    endif()
  endif()
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${NAME} ${ARG_SOURCES})
  damper_group(${NAME})
  target_link_libraries(${NAME} PRIVATE damper_flags ${ARG_DEPS} GTest::gtest_main)
  target_compile_definitions(${NAME} PRIVATE DAMPER_INSTRUMENTED=$<BOOL:${DAMPER_INSTRUMENTED}>)
  damper_precompile(${NAME} gtest ${ARG_PRECOMPILE} OPTIONS ${DAMPER_TEST_OPTIONS})
  if(ARG_TOGETHER)
    add_test(NAME ${NAME} COMMAND ${NAME})
    set_tests_properties(${NAME} PROPERTIES TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL ${ARG_RUN_SERIAL})
    return()
  endif()
  gtest_discover_tests(${NAME} DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL ${ARG_RUN_SERIAL})
endfunction()

# damper_group(TARGET)
# With DAMPER_GROUPS, the compiler takes several sources of TARGET as one file: tools/unity chooses
# which, when CMake configures. Builds everything in less than half of the time; a build after one
# change is slower, so the preset `dev` has none.
function(damper_group TARGET)
  if(NOT DAMPER_GROUPS)
    return()
  endif()
  get_target_property(sources ${TARGET} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/unity ${sources}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} COMMAND_ERROR_IS_FATAL ANY
    OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([0-9]+) (.*)$" found "${line}")
    set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES UNITY_GROUP ${CMAKE_MATCH_1})
  endforeach()
  set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A base from an unnamed namespace is fine in a file that is included once.
  target_compile_options(${TARGET} PRIVATE -Wno-subobject-linkage)
endfunction()

# damper_precompile(TARGET KIND...)
# Gives TARGET the precompiled header of KINDs, from DamperPrecompiled.cmake's lists: the standard
# library, and what KIND names (gtest, asio, cli11). Only headers of other projects: a header of
# ours must not hide a missing include, and clang-tidy compiles without any (tools/lint). The header
# is compiled once for all targets with the same kinds and options. -pthread: gcc requires it to be
# the same everywhere. -fpch-preprocess: ccache requires it.
function(damper_precompile TARGET)
  set(options -pthread $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  cmake_parse_arguments(ARG "" "" "OPTIONS" ${ARGN})
  list(APPEND options ${ARG_OPTIONS})
  get_target_property(type ${TARGET} TYPE)
  string(MD5 hash "${ARGN} ${type}")
  set(host damper_precompiled_${hash})
  if(NOT TARGET ${host})
    set(headers ${DAMPER_PRECOMPILED_std})
    set(file ${PROJECT_BINARY_DIR}/headers/precompiled.cc)
    file(CONFIGURE OUTPUT ${file} CONTENT "int main() {}\n")
    if(type STREQUAL "EXECUTABLE")  # -fPIE, and -fPIC for a library: gcc requires that, too.
      add_executable(${host} EXCLUDE_FROM_ALL ${file})
    else()
      add_library(${host} STATIC EXCLUDE_FROM_ALL ${file})
    endif()
    target_link_libraries(${host} PRIVATE damper_flags)
    foreach(kind IN LISTS ARG_UNPARSED_ARGUMENTS)
      list(APPEND headers ${DAMPER_PRECOMPILED_${kind}})
      target_link_libraries(${host} PRIVATE ${DAMPER_PRECOMPILED_LINK_${kind}})
    endforeach()
    target_compile_options(${host} PRIVATE ${options})
    target_precompile_headers(${host} PRIVATE ${headers})
  endif()
  target_compile_options(${TARGET} PRIVATE ${options})
  target_precompile_headers(${TARGET} REUSE_FROM ${host})
endfunction()

# damper_boost_headers(target...)
# The headers of Boost, Asio's among them, for the targets of these that there are: tests, and
# headers that are compiled alone. No library of ours links it.
function(damper_boost_headers)
  foreach(user IN LISTS ARGN)
    if(NOT TARGET ${user})
      continue()
    endif()
    find_package(Boost 1.81 REQUIRED)
    target_link_libraries(${user} PRIVATE Boost::headers)
  endforeach()
endfunction()
