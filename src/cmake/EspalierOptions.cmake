set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

find_program(ESPALIER_CCACHE ccache)
if(ESPALIER_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without these ccache never finds what was compiled with a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros,locale "${ESPALIER_CCACHE}")
endif()

# Flags that every target of ours has; users of the installed libraries do not inherit them.
add_library(espalier_flags INTERFACE)
target_compile_options(espalier_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")     # warnings that g++ 12 gives for correct uses of std::string and std::vector
  target_compile_options(espalier_flags INTERFACE -Wno-restrict -Wno-stringop-overread -Wno-array-bounds)
endif()
if(ESPALIER_WERROR)
  # What g++ guesses from its own headers stays a warning.
  target_compile_options(espalier_flags INTERFACE -Werror
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-error=maybe-uninitialized>
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-error=stringop-overflow>)
endif()
if(ESPALIER_CONTRACTS OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_definitions(espalier_flags INTERFACE ESPALIER_CONTRACTS=1)
endif()
if(ESPALIER_SANITIZE)
  target_compile_options(espalier_flags INTERFACE -fsanitize=${ESPALIER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(espalier_flags INTERFACE -fsanitize=${ESPALIER_SANITIZE})
endif()
