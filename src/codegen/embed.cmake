# What is emitted as it stands is compiled in.
set(functions "")
foreach(pair cpu_prelude:cpu.cpp conversions_text:conversions.cpp functions_text:functions.cpp product_text:products.cpp
             reference_prelude:reference.cpp threads_text:threads.cpp memory_text:memory.cpp harness_text:harness.cpp
             wrapper_text:wrapper.py torch_op_text:torch_op.py calibration_text:calibrate.cpp opencl_prelude:opencl.cl cuda_prelude:cuda.cu tensor_cores_text:tensor_cores.h gpu_words_text:gpu_words.h
             opencl_host_text:opencl_host.c cuda_host_text:cuda_host.cu gpu_whole_text:gpu_whole.c)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 function)
  list(GET pair 1 file)
  file(READ ${CMAKE_CURRENT_LIST_DIR}/text/${file}.in text)
  string(APPEND functions "std::string_view ${function}() { return R\"file(\n${text})file\"; }\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/text/${file}.in)
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/codegen_texts.cpp @ONLY CONTENT [[#include "texts.hpp"

namespace espalier::codegen {
@functions@} // namespace espalier::codegen
]])
target_sources(espalier_codegen PRIVATE ${PROJECT_BINARY_DIR}/generated/codegen_texts.cpp)
target_include_directories(espalier_codegen PRIVATE ${CMAKE_CURRENT_LIST_DIR})
