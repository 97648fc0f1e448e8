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

/// What bench says of a package, after `change` was made to the files.
struct Verdict {
    int code = -1;
    std::string text;
};
using Change = std::function<void(TextFile&)>;
inline Verdict verdict_on(std::vector<TextFile> const& files, std::string const& build, Change const& change,
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
