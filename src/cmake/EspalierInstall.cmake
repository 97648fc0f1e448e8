# Install and export: `find_package(espalier)` gives espalier::search and so on.
option(ESPALIER_INSTALL "Make install rules" ${PROJECT_IS_TOP_LEVEL})
if(NOT ESPALIER_INSTALL)
  return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/espalier)

get_property(targets GLOBAL PROPERTY ESPALIER_TARGETS)
install(TARGETS ${targets} EXPORT espalier_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS espalier RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/espalier DESTINATION include FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/config DESTINATION ${CMAKE_INSTALL_DATADIR}/espalier)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/run/slurm.sh ${PROJECT_SOURCE_DIR}/run/pbs.sh
        DESTINATION ${CMAKE_INSTALL_DATADIR}/espalier/run)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/third_party_notes.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT espalier_targets NAMESPACE espalier:: FILE espalierTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/espalierConfig.cmake.in ${PROJECT_BINARY_DIR}/espalierConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/espalierConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/espalierConfig.cmake ${PROJECT_BINARY_DIR}/espalierConfigVersion.cmake
        DESTINATION ${package_dir})
