# Run at build time: writes build_config.hpp, and touches it only when something changed.
find_package(Git QUIET)
set(commit "unknown")
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=12 --exclude=*
                  WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(commit "${described}")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[#pragma once
#define ESPALIER_VERSION_TEXT "@VERSION@"
#define ESPALIER_COMMIT "@commit@"
#define ESPALIER_COMPILER "@COMPILER@"
#define ESPALIER_FLAGS "@FLAGS@"
#define ESPALIER_BUILD_TYPE "@BUILD_TYPE@"
#define ESPALIER_CUDA_FOUND @CUDA@
]])
