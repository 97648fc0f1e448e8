#include "espalier/program/source.hpp"

#include "espalier/program/source_ops.hpp"

#include "elaborate.hpp"
#include "espalier/base/error.hpp"
#include "limits.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::program {
namespace {

std::string place_of(Source const& source, SourceProblem const& problem) {
    using enum SourceProblem::Part;
    auto const i = problem.index;
    switch (problem.part) {
    case dim:
        return fmt::format("dims.{}", source.dims[i].name);
    case input:
        return fmt::format("inputs.{}", source.inputs[i].name);
    case op:
        return fmt::format("ops[{}] ({})", i, source.ops[i].op);
    case output:
        return fmt::format("outputs[{}]", i);
    case whole:
        break;
    }
    return source.name.empty() ? "program" : source.name;
}

/// Throws all problems as one error, a line each.
Elaboration elaborate_or_throw(Source const& source) {
    auto out = elaborate(source);
    std::string message;
    for (auto const& problem : out.problems)
        message += fmt::format("{}{}: {}", message.empty() ? "" : "\n", place_of(source, problem), problem.message);
    if (!message.empty()) throw base::InputError(message);
    return out;
}

} // namespace

std::vector<SourceProblem> check(Source const& source) { return elaborate(source).problems; }

Graph build(Source const& source) { return elaborate_or_throw(source).graph; }

Symbols symbols_of(Source const& source) { return elaborate(source).symbols; }

SymbolicShapes symbolic_shapes(Source const& source) { return elaborate_or_throw(source).shapes; }

base::IndexedVector<OpId, std::size_t> source_ops(Source const& source) {
    return elaborate_or_throw(source).source_ops;
}

} // namespace espalier::program
