# Every third-party library, found once. Each has one home module (see EspalierModule.cmake).
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)

set(HDF5_PREFER_PARALLEL OFF)
enable_language(C)                  # FindHDF5 asks the C compiler wrapper
find_package(HDF5 REQUIRED COMPONENTS C)
if(HDF5_IS_PARALLEL)
  message(FATAL_ERROR "Espalier wants the serial HDF5 library: every rank writes its own file (Debian: libhdf5-dev)")
endif()

# Debian keeps several MPIs side by side, and `mpicc` is whichever came first: beside it, MPICH is the one we test with.
find_program(ESPALIER_MPICC mpicc HINTS ENV MPI_HOME PATH_SUFFIXES bin)
mark_as_advanced(ESPALIER_MPICC)
if(ESPALIER_MPICC AND EXISTS "${ESPALIER_MPICC}.mpich" AND NOT MPI_C_COMPILER)
  cmake_path(GET ESPALIER_MPICC PARENT_PATH mpi_bin)
  set(MPI_C_COMPILER "${ESPALIER_MPICC}.mpich" CACHE FILEPATH "MPI compiler for C")
  set(MPIEXEC_EXECUTABLE "${mpi_bin}/mpiexec.mpich" CACHE FILEPATH "Executable for running MPI programs")
endif()
find_package(MPI REQUIRED COMPONENTS C)     # the C interface is all we use

find_path(ESPALIER_XXHASH_INCLUDE xxhash.h REQUIRED)
find_path(ESPALIER_CLI11_INCLUDE CLI/CLI.hpp REQUIRED)
find_path(ESPALIER_Z3_INCLUDE z3++.h REQUIRED)
find_library(ESPALIER_Z3_FILE z3 REQUIRED)

option(ESPALIER_CUDA_REQUIRED "Fail if nvcc is not there" OFF)
set(ESPALIER_HAS_CUDA OFF)
if(ESPALIER_CUDA OR ESPALIER_CUDA_REQUIRED)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(ESPALIER_HAS_CUDA ON)
  elseif(ESPALIER_CUDA_REQUIRED)
    message(FATAL_ERROR "ESPALIER_CUDA_REQUIRED: nvcc was not found (put it on PATH or set CMAKE_CUDA_COMPILER)")
  endif()
endif()

# HDF5 and Z3 as targets of ours, because their find modules make none in every version we support. Imported, so that an
# installed Espalier names them instead of the files of this machine; espalierConfig.cmake makes the same ones.
add_library(espalier_hdf5 INTERFACE IMPORTED GLOBAL)
target_include_directories(espalier_hdf5 SYSTEM INTERFACE ${HDF5_INCLUDE_DIRS})
target_link_libraries(espalier_hdf5 INTERFACE ${HDF5_LIBRARIES})
add_library(espalier_z3 INTERFACE IMPORTED GLOBAL)
target_include_directories(espalier_z3 SYSTEM INTERFACE ${ESPALIER_Z3_INCLUDE})
target_link_libraries(espalier_z3 INTERFACE ${ESPALIER_Z3_FILE})
set(ESPALIER_Z3_LIBRARY espalier_z3)

# OTF2, for `trace --export otf2`; without it the program says so.
find_path(ESPALIER_OTF2_INCLUDE otf2/otf2.h PATH_SUFFIXES otf2/include)
find_library(ESPALIER_OTF2_FILE open-trace-format2 otf2)
mark_as_advanced(ESPALIER_OTF2_INCLUDE ESPALIER_OTF2_FILE)
set(OTF2_FOUND OFF)
if(ESPALIER_OTF2_INCLUDE AND ESPALIER_OTF2_FILE)
  set(OTF2_FOUND ON)
  add_library(espalier_otf2 INTERFACE IMPORTED GLOBAL)
  target_include_directories(espalier_otf2 SYSTEM INTERFACE ${ESPALIER_OTF2_INCLUDE})
  target_link_libraries(espalier_otf2 INTERFACE ${ESPALIER_OTF2_FILE})
endif()

# ONNX, for models in files: the description of its format, and protobuf, which makes code of that. Nothing of ONNX's own
# libraries is linked; without these two the program says so.
find_package(Protobuf QUIET CONFIG)
if(NOT Protobuf_FOUND)
  find_package(Protobuf QUIET)
endif()
find_path(ESPALIER_ONNX_INCLUDE onnx/onnx.proto)
mark_as_advanced(ESPALIER_ONNX_INCLUDE)
set(ESPALIER_HAS_ONNX OFF)
if(ESPALIER_ONNX_INCLUDE AND TARGET protobuf::protoc AND TARGET protobuf::libprotobuf-lite)
  set(ESPALIER_HAS_ONNX ON)
  file(STRINGS ${ESPALIER_ONNX_INCLUDE}/onnx/onnx.proto lite REGEX "LITE_RUNTIME")
  if(lite)
    set(ESPALIER_PROTOBUF protobuf::libprotobuf-lite)
  else()
    set(ESPALIER_PROTOBUF protobuf::libprotobuf)
  endif()
endif()
