# Debian packages through CPack: `damper` (program, units, configuration) and `damper-dev` (headers,
# archives, CMake and pkg-config files). `cpack -G DEB -B DIR` in the build folder builds them.
#
# Files outside a prefix (/etc, the units) are installed by the package only: EXCLUDE_FROM_ALL, so
# that `make install` writes only under its prefix.
if(NOT DAMPER_INSTALL)
  return()
endif()

set(packaging ${PROJECT_SOURCE_DIR}/packaging)
set(doc share/doc/damper)
install(FILES ${packaging}/config/damper.yaml ${packaging}/config/webhooks.yaml
  DESTINATION /etc/damper
  COMPONENT runtime EXCLUDE_FROM_ALL)
install(FILES ${packaging}/systemd/damper.service ${packaging}/systemd/damper.socket
  ${packaging}/systemd/damper-webhooks.service
  DESTINATION /lib/systemd/system COMPONENT runtime EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${doc} COMPONENT runtime EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${doc} RENAME copyright
  COMPONENT runtime EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/damper-dev RENAME copyright
  COMPONENT dev EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/guide DESTINATION ${doc}
  COMPONENT runtime EXCLUDE_FROM_ALL)
install(FILES ${packaging}/prometheus/damper.rules.yml
  ${packaging}/prometheus/damper-webhooks.rules.yml ${packaging}/grafana/damper-proxy.json
  ${packaging}/grafana/damper-webhooks.json ${packaging}/kubernetes/sidecar.yaml
  ${packaging}/kubernetes/webhooks.yaml
  DESTINATION ${doc}/examples COMPONENT runtime EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME damper)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR damper)
set(CPACK_PACKAGE_CONTACT "Damper maintainers <damper@localhost>")
set(CPACK_SET_DESTDIR ON)  # /etc is not under the prefix.
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE gzip)  # Takes a tenth of xz's time.

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME damper)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION net)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
  "A retry proxy, a dispatcher of webhooks, a linter and a simulator.
The services are neither enabled nor started: edit /etc/damper/damper.yaml or
/etc/damper/webhooks.yaml first.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${packaging}/debian/conffiles
  ${packaging}/debian/postinst ${packaging}/debian/prerm ${packaging}/debian/postrm)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME damper-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEV_DESCRIPTION
  "Headers, static libraries, and the CMake and pkg-config files that find them.")
set(needed libboost1.81-dev libnghttp2-dev libsqlite3-dev libssl-dev libyaml-cpp-dev)
list(JOIN needed ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS)

include(CPack)
