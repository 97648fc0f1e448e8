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

find_package(MPI REQUIRED COMPONENTS C)     # the C interface is all we use

find_path(ESPALIER_XXHASH_INCLUDE xxhash.h REQUIRED)
find_path(ESPALIER_CLI11_INCLUDE CLI/CLI.hpp REQUIRED)
find_path(ESPALIER_Z3_INCLUDE z3++.h REQUIRED)
find_library(ESPALIER_Z3_LIBRARY z3 REQUIRED)

set(ESPALIER_HAS_CUDA OFF)
if(ESPALIER_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(ESPALIER_HAS_CUDA ON)
  endif()
endif()

# The serial HDF5 C library as a target of ours, because FindHDF5 makes none in every version we support.
add_library(espalier_hdf5 INTERFACE)
target_include_directories(espalier_hdf5 SYSTEM INTERFACE ${HDF5_INCLUDE_DIRS})
target_link_libraries(espalier_hdf5 INTERFACE ${HDF5_LIBRARIES})
