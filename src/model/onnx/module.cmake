# What reads and writes ONNX, on code that protoc makes of the format's own description, wherever that was found.
if(NOT ESPALIER_HAS_ONNX)
  target_sources(espalier_model PRIVATE ${CMAKE_CURRENT_LIST_DIR}/without.cpp)
  return()
endif()

set(ESPALIER_ONNX_CODE ${PROJECT_BINARY_DIR}/generated/onnx)
file(MAKE_DIRECTORY ${ESPALIER_ONNX_CODE})
add_custom_command(OUTPUT ${ESPALIER_ONNX_CODE}/onnx.pb.cc ${ESPALIER_ONNX_CODE}/onnx.pb.h
  COMMAND protobuf::protoc --proto_path=${ESPALIER_ONNX_INCLUDE}/onnx --cpp_out=${ESPALIER_ONNX_CODE} onnx.proto
  DEPENDS ${ESPALIER_ONNX_INCLUDE}/onnx/onnx.proto protobuf::protoc VERBATIM)
set_source_files_properties(${ESPALIER_ONNX_CODE}/onnx.pb.cc PROPERTIES COMPILE_OPTIONS -w SKIP_UNITY_BUILD_INCLUSION ON)

file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
list(FILTER sources EXCLUDE REGEX "/without\\.cpp$")
if(ESPALIER_TOGETHER)
  set_source_files_properties(${sources} PROPERTIES UNITY_GROUP onnx)
endif()
target_sources(espalier_model PRIVATE ${sources} ${ESPALIER_ONNX_CODE}/onnx.pb.cc ${ESPALIER_ONNX_CODE}/onnx.pb.h)
target_include_directories(espalier_model SYSTEM PRIVATE ${ESPALIER_ONNX_CODE})
target_link_libraries(espalier_model PRIVATE ${ESPALIER_PROTOBUF})
