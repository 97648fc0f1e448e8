# espalier_module(NAME base USES ... LINKS ... [TOGETHER] [COLD])
#
# One library per module: espalier_<name>, alias espalier::<name>. Sources are src/<name>/*.cpp.
# USES names the modules that may be included (public), LINKS the third-party libraries whose home
# this is (private). tests/style checks that includes keep to both lists. TOGETHER: several sources make one translation unit,
# because they include the same large headers; their anonymous namespaces then share their names. COLD: it does not
# take part in the search, and is compiled quickly instead.
option(ESPALIER_TOGETHER "Compile sources together where that is quicker" ON)
function(espalier_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)   # takes a source for a header
  set(count 0)
  foreach(source ${ARGN})
    if(source MATCHES "_schema\\.cpp$")      # they use the words of config as their own
      set(group schema)
    else()
      math(EXPR group "${count} / 6")
      math(EXPR count "${count} + 1")
    endif()
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()

function(espalier_module)
  cmake_parse_arguments(ARG "TOGETHER;COLD" "NAME;DIRECTORY" "USES;LINKS;PUBLIC_LINKS" ${ARGN})
  if(NOT ARG_DIRECTORY)
    set(ARG_DIRECTORY ${ARG_NAME})
  endif()
  string(REPLACE "/" "_" name "${ARG_NAME}")
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${ARG_DIRECTORY}/*.cpp")
  set(target espalier_${name})
  add_library(${target} STATIC ${sources})
  add_library(espalier::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  if(ARG_TOGETHER AND ESPALIER_TOGETHER)
    espalier_together(${target} ${sources})
  endif()
  if(ARG_COLD)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:espalier_flags>)
  foreach(used ${ARG_USES})
    string(REPLACE "/" "_" used "${used}")
    target_link_libraries(${target} PUBLIC espalier_${used})
  endforeach()
  target_link_libraries(${target} PUBLIC ${ARG_PUBLIC_LINKS} PRIVATE ${ARG_LINKS})
  set_property(GLOBAL APPEND PROPERTY ESPALIER_TARGETS ${target})
  set_property(GLOBAL APPEND PROPERTY ESPALIER_ARROWS "${ARG_NAME}:${ARG_USES}")
endfunction()
