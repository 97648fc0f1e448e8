#pragma once

#include "espalier/codegen/package.hpp"
#include "espalier/program/source.hpp"

#include "support/compiled.hpp"
#include "support/programs.hpp"

#include <functional>

/// Folders of emitted programs, built and run.
namespace espalier::packages {

using codegen::Package;
using codegen::TextFile;
using program::DType;
using program::Graph;

inline Graph stored_as(Graph graph, DType dtype) {
    graph.dtype = dtype;
    for (auto& body : graph.bodies) body = stored_as(body, dtype);
    return graph;
}
inline Package package_of(Graph const& program, Graph const& input, DType dtype) {
    return {stored_as(program, dtype), stored_as(input, dtype), {1}, "p", "a test"};
}

/// The output of bench for a package, after `change` was made to the files.
struct Ending {
    int code = -1;
    std::string text;
};
using Change = std::function<void(TextFile&)>;
inline Ending verdict_on(std::vector<TextFile> const& files, std::string const& build, Change const& change,
                         std::string const& bench) {
    compiled::Folder const folder;
    for (auto file : files) {
        if (change) change(file);
        folder.write(file.name, file.text);
    }
    if (folder.run(build) != 0) return {-1, folder.log()};
    auto const code = folder.run(bench);
    return {code, folder.log()};
}

/// The number of random programs: more in slow tests.
inline int count_of_programs(int otherwise) {
    auto const* const asked = std::getenv("ESPALIER_TEST_PROGRAMS");
    return asked != nullptr ? std::atoi(asked) : otherwise;
}

/// Whether programs of OpenCL can be compiled and run here.
inline bool has_opencl() {
    static bool const has = [] {
        compiled::Folder const folder;
        folder.write("probe.c",
                     "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\nint main(void) {\n"
                     "    cl_platform_id p[16]; cl_device_id d; cl_uint n = 0;\n"
                     "    if (clGetPlatformIDs(16, p, &n) != CL_SUCCESS) return 1;\n"
                     "    for (cl_uint i = 0; i < n; ++i)\n"
                     "        if (clGetDeviceIDs(p[i], CL_DEVICE_TYPE_ALL, 1, &d, 0) == CL_SUCCESS) return 0;\n"
                     "    return 1;\n}\n");
        return folder.run("cc -o probe probe.c -lOpenCL && ./probe") == 0;
    }();
    return has;
}

/// Sizes that compile and run quickly: every key at most 12, heads as they must be.
inline Graph small(program::Builtin const& builtin) {
    std::vector<std::int64_t> sizes;
    for (auto const& key : builtin.keys) {
        if (key.name == "heads")
            sizes.push_back(4);
        else if (key.name == "kv_heads")
            sizes.push_back(builtin.name == "gqa" || builtin.name == "qknorm_gqa" ? 2 : 0);
        else
            sizes.push_back(std::min<std::int64_t>(key.default_size, 12));
    }
    return program::build(builtin.make(sizes));
}

} // namespace espalier::packages
