#include "commands.hpp"

#include "espalier/base/build_info.hpp"
#include "espalier/base/print.hpp"
#include "espalier/cluster/communicator.hpp"
#include "espalier/model/onnx.hpp"
#include "espalier/search/team.hpp"
#include "espalier/smt/solver.hpp"
#include "espalier/store/version.hpp"

#include <fmt/core.h>

namespace espalier::app {
namespace {

base::Json version_json() {
    auto const build = base::build_info();
    auto const mpi = cluster::mpi_version();
    auto const hdf5 = store::hdf5_version();
    return {{"version", build.version},
            {"commit", build.commit},
            {"compiler", build.compiler},
            {"flags", build.flags},
            {"build_type", build.build_type},
            {"contracts", build.has_contracts},
            {"mpi", {{"built", mpi.built}, {"running", mpi.running}}},
            {"openmp", search::openmp_version()},
            {"z3", smt::version()},
            {"hdf5", {{"built", hdf5.built}, {"running", hdf5.running}}},
            {"cuda", build.has_cuda ? "built in; evaluates candidates where there is a GPU (verify.device)"
                                    : "not found by the build"},
            {"onnx", model::has_onnx() ? "built in; models are read and written"
                                       : "not found by the build (libonnx-dev, libprotobuf-dev, protobuf-compiler)"}};
}

} // namespace

std::string build_text() {
    auto const v = version_json();
    return fmt::format("{}, {} {}, {}, OpenMP {}, Z3 {}, HDF5 {}", v["compiler"].get<std::string>(),
                       v["build_type"].get<std::string>(), v["flags"].get<std::string>(),
                       v["mpi"]["running"].get<std::string>(), v["openmp"].get<int>(), v["z3"].get<std::string>(),
                       v["hdf5"]["running"].get<std::string>());
}

int version_command(bool json) {
    auto const v = version_json();
    if (json) {
        base::put_json(v);
        return 0;
    }
    base::say("espalier {} ({})\n", v["version"].get<std::string>(), v["commit"].get<std::string>());
    base::say("  compiler  {}, {}, {}{}\n", v["compiler"].get<std::string>(), v["build_type"].get<std::string>(),
              v["flags"].get<std::string>(), v["contracts"].get<bool>() ? ", contracts checked" : "");
    base::say("  MPI       {} (running: {})\n", v["mpi"]["built"].get<std::string>(),
              v["mpi"]["running"].get<std::string>());
    base::say("  OpenMP    {}\n", v["openmp"].get<int>());
    base::say("  Z3        {}\n", v["z3"].get<std::string>());
    base::say("  HDF5      {} (running: {})\n", v["hdf5"]["built"].get<std::string>(),
              v["hdf5"]["running"].get<std::string>());
    base::say("  CUDA      {}\n", v["cuda"].get<std::string>());
    base::say("  ONNX      {}\n", v["onnx"].get<std::string>());
    return 0;
}

} // namespace espalier::app
