# The installed files: libdamper.a, libdamper_policy.a, libdamper_http.a, the
# headers, a CMake package, a pkg-config file for each and the program.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)  # The program is `runtime`: see DamperPackage.

# Libraries that a module may LINK publicly, as: target, CMake package, pkg-config module.
set(DAMPER_PACKAGES
  "Threads::Threads|Threads|"
  "yaml-cpp|yaml-cpp|yaml-cpp"
  "Boost::headers|Boost|-"
  "OpenSSL::SSL|OpenSSL|openssl"
  "OpenSSL::Crypto|OpenSSL|libcrypto"
  "SQLite::SQLite3|SQLite3|sqlite3"
  "PostgreSQL::PostgreSQL|PostgreSQL|libpq"
  "PkgConfig::nghttp2|PkgConfig|libnghttp2"
  "PkgConfig::sodium|PkgConfig|libsodium"
  "gRPC::grpc++|gRPC|grpc++"
  "CURL::libcurl|CURL|libcurl")

# damper_library(NAME MODULES module... [DEPS library...])
#
# Joins the modules into one static library, damper::NAME. Modules that are not built are left out,
# and a library without modules is not created.
function(damper_library NAME)
  cmake_parse_arguments(ARG "" "" "MODULES;DEPS" ${ARGN})
  set(target damper_library_${NAME})
  set(objects "")
  set(links "")
  set(modules "")
  foreach(module IN LISTS ARG_MODULES)
    if(TARGET damper_${module})
      list(APPEND modules damper_${module})
      get_target_property(type damper_${module} TYPE)
      if(type STREQUAL "STATIC_LIBRARY")
        list(APPEND objects $<TARGET_OBJECTS:damper_${module}>)
      endif()
      get_target_property(link damper_${module} DAMPER_LINK)
      list(APPEND links ${link})
    endif()
  endforeach()
  if(NOT modules)
    return()
  endif()
  list(REMOVE_DUPLICATES links)
  set(deps ${ARG_DEPS})
  list(TRANSFORM ARG_DEPS PREPEND damper_library_)

  set(visibility PUBLIC)
  if(objects)
    add_library(${target} STATIC ${objects})
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  else()
    add_library(${target} INTERFACE)
    set(visibility INTERFACE)
  endif()
  add_library(damper::${NAME} ALIAS ${target})
  set(file damper)
  if(NOT NAME STREQUAL "damper")
    set(file damper_${NAME})
  endif()
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${file} EXPORT_NAME ${NAME}
    DAMPER_MODULES "${modules}" DAMPER_LINK "${links}" DAMPER_DEPS "${deps}")
  target_compile_features(${target} ${visibility} cxx_std_20)
  target_include_directories(${target} ${visibility}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} ${visibility} ${ARG_DEPS} ${links})
  set_property(GLOBAL APPEND PROPERTY DAMPER_LIBRARIES ${NAME})
endfunction()

# damper_install(): the install rules of every library and program declared before.
function(damper_install)
  if(NOT DAMPER_INSTALL)
    return()
  endif()
  get_property(libraries GLOBAL PROPERTY DAMPER_LIBRARIES)
  foreach(name IN LISTS libraries)
    damper_install_library(${name})
  endforeach()
  file(GLOB umbrella CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/damper/*.h)
  install(FILES ${umbrella} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/damper)
  get_property(programs GLOBAL PROPERTY DAMPER_PROGRAMS)
  if(programs)
    install(TARGETS ${programs} DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
  endif()
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/damper)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/packaging/damper-config.cmake.in
    ${PROJECT_BINARY_DIR}/packaging/damper-config.cmake INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/packaging/damper-config-version.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/packaging/damper-config.cmake
    ${PROJECT_BINARY_DIR}/packaging/damper-config-version.cmake DESTINATION ${package_dir})
endfunction()

# One library: archive, headers, its CMake targets with the packages they need, its pkg-config file.
function(damper_install_library NAME)
  set(target damper_library_${NAME})
  get_target_property(modules ${target} DAMPER_MODULES)
  get_target_property(links ${target} DAMPER_LINK)
  foreach(module IN LISTS modules)
    get_target_property(headers ${module} DAMPER_HEADERS)
    list(FILTER headers EXCLUDE REGEX "_testing\\.h$")
    foreach(header IN LISTS headers)
      cmake_path(GET header PARENT_PATH folder)
      cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src)
      install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
    endforeach()
  endforeach()

  set(DAMPER_FIND "")
  set(DAMPER_REQUIRES "")
  get_target_property(deps ${target} DAMPER_DEPS)
  foreach(dep IN LISTS deps)
    if(dep STREQUAL "damper")
      list(APPEND DAMPER_REQUIRES "damper = ${PROJECT_VERSION}")
      continue()
    endif()
    list(APPEND DAMPER_REQUIRES "damper-${dep} = ${PROJECT_VERSION}")
    foreach(part find targets)
      string(APPEND DAMPER_FIND
        "include(\${CMAKE_CURRENT_LIST_DIR}/damper-${dep}-${part}.cmake)\n")
    endforeach()
  endforeach()
  set(DAMPER_LIBS "")
  foreach(link IN LISTS links)
    set(known ${DAMPER_PACKAGES})
    string(REPLACE "+" "[+]" name "${link}")
    list(FILTER known INCLUDE REGEX "^${name}\\|")
    if(NOT known)
      message(FATAL_ERROR "damper::${NAME} links ${link}, which users could not find: add it to "
        "DAMPER_PACKAGES in cmake/DamperInstall.cmake.")
    endif()
    string(REPLACE "|" ";" known "${known}")
    list(GET known 1 package)
    list(GET known 2 module)
    string(APPEND DAMPER_FIND "find_dependency(${package})\n")
    if(link MATCHES "^PkgConfig::(.*)")
      string(APPEND DAMPER_FIND
        "pkg_check_modules(${CMAKE_MATCH_1} REQUIRED IMPORTED_TARGET ${module})\n")
    endif()
    if(NOT module)
      string(APPEND DAMPER_LIBS " -pthread")
    elseif(NOT module STREQUAL "-")  # Only headers, in the compiler's default path.
      list(APPEND DAMPER_REQUIRES ${module})
    endif()
  endforeach()
  list(JOIN DAMPER_REQUIRES ", " DAMPER_REQUIRES)

  set(stem damper)
  if(NOT NAME STREQUAL "damper")
    set(stem damper-${NAME})
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    get_target_property(file ${target} OUTPUT_NAME)
    string(PREPEND DAMPER_LIBS "-L\${libdir} -l${file}")
  endif()
  set(DAMPER_NAME ${stem})
  file(RELATIVE_PATH DAMPER_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" DAMPER_TO_PREFIX ${DAMPER_TO_PREFIX})
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/packaging/${stem}-find.cmake @ONLY
    CONTENT "@DAMPER_FIND@")
  configure_file(${PROJECT_SOURCE_DIR}/packaging/damper.pc.in
    ${PROJECT_BINARY_DIR}/packaging/${stem}.pc @ONLY)

  install(TARGETS ${target} EXPORT ${stem}-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT ${stem}-targets NAMESPACE damper::
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/damper)
  install(FILES ${PROJECT_BINARY_DIR}/packaging/${stem}-find.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/damper)
  install(FILES ${PROJECT_BINARY_DIR}/packaging/${stem}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
