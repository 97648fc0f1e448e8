# The page's own files are compiled in, so that a report needs nothing but the program.
set(folder ${CMAKE_CURRENT_LIST_DIR}/page)
set(script "")
foreach(name text table dom chart sections strip main)
  file(READ ${folder}/${name}.js text)
  string(APPEND script "    R\"file(${text})file\"\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${name}.js)
endforeach()
file(READ ${folder}/page.html template)
file(READ ${folder}/style.css style)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/page.html ${folder}/style.css)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/page_files.cpp @ONLY CONTENT [[#include "page_files.hpp"

namespace espalier::analysis::report {
std::string_view page_template() { return R"file(@template@)file"; }
std::string_view page_style() { return R"file(@style@)file"; }
std::string_view page_script() {
    return
@script@    ;
}
} // namespace espalier::analysis::report
]])
target_sources(espalier_analysis_report PRIVATE ${PROJECT_BINARY_DIR}/generated/page_files.cpp)
target_include_directories(espalier_analysis_report PRIVATE ${CMAKE_CURRENT_LIST_DIR})
