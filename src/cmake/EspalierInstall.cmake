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

# Completions and the manual page say what the program itself says of its command line: it is asked when it is installed.
function(espalier_install_output file)
  set(made ${PROJECT_BINARY_DIR}/generated/share/${file})
  cmake_path(GET file PARENT_PATH folder)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated/share/${folder})
  list(JOIN ARGN " " words)
  install(CODE "execute_process(COMMAND $<TARGET_FILE:espalier> ${words} OUTPUT_FILE \"${made}\" COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${made} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
endfunction()
espalier_install_output(bash-completion/completions/espalier completion bash)
espalier_install_output(zsh/site-functions/_espalier completion zsh)
espalier_install_output(fish/vendor_completions.d/espalier.fish completion fish)
espalier_install_output(man/man1/espalier.1 man)

install(EXPORT espalier_targets NAMESPACE espalier:: FILE espalierTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/espalierConfig.cmake.in ${PROJECT_BINARY_DIR}/espalierConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/espalierConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/espalierConfig.cmake ${PROJECT_BINARY_DIR}/espalierConfigVersion.cmake
        DESTINATION ${package_dir})
