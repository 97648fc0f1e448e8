#include "espalier/model/nest.hpp"

#include <algorithm>
#include <set>

namespace espalier::model {
namespace {

double flops_of(Expression const& expression) {
    double out = 0;
    for (auto const& node : expression)
        if (node.kind == ScalarNode::Kind::apply) out += info(node.function).flops;
    return out;
}

/// Values that a reduction combines count with it, a product and the sum it goes into as two. Elements outside are
/// counted as if they were there.
double flops_of(Nest const& nest) {
    auto const results = static_cast<double>(element_count(nest.kept));
    if (nest.reducer == Reducer::none) return results * flops_of(nest.body);
    auto const values = results * static_cast<double>(element_count(nest.reduced));
    return values * (flops_of(nest.body) + 1) + results * flops_of(nest.epilogue);
}

/// How many elements of its source a read touches at most.
double elements_read(Nest const& nest, Read const& read) {
    double out = 1;
    for (std::size_t d = 0; d < read.shape.size(); ++d) {
        double places = 1;
        for (auto const& step : read.index[d].steps) places *= static_cast<double>(nest.loop_size(step.loop));
        auto const size = static_cast<double>(read.shape[d]);
        out *= read.index[d].looked_up ? size : std::min(places, size);
    }
    return out;
}

/// Whether it moves no value: the same elements in the same order.
bool is_view(Nest const& nest) {
    if (nest.reducer != Reducer::none || nest.body.size() != 1 || nest.reads.size() != 1) return false;
    auto const& read = nest.reads[0];
    if (read.shape != nest.kept) return false;
    for (std::size_t d = 0; d < read.shape.size(); ++d) {
        auto const& position = read.index[d];
        if (position.offset != 0 || position.looked_up || position.steps.size() != 1 || position.steps[0].loop != d ||
            position.steps[0].stride != 1)
            return false;
    }
    return true;
}

} // namespace

std::optional<Work> work_of(Node const& node, Model const& model, Facts const& facts) {
    auto const found = define(node, model, facts);
    auto const* const definition = std::get_if<Definition>(&found);
    if (!definition) return std::nullopt;
    Work out;
    std::vector<double> read(definition->operands);
    for (auto const& nest : definition->nests) {
        if (is_view(nest)) continue;
        out.flops += flops_of(nest);
        for (auto const& each : nest.reads)
            if (each.source < definition->operands)
                read[each.source] = std::max(read[each.source], elements_read(nest, each));
    }
    for (std::size_t i = 0; i < read.size(); ++i)
        if (read[i] > 0)
            out.bytes_read += read[i] * static_cast<double>(info(facts.types.at(node.inputs[i]).element).size_bytes);
    for (auto const& made : definition->outputs) {
        auto const* const nest = std::get_if<std::size_t>(&made);
        if (!nest || is_view(definition->nests[*nest])) continue;
        auto const& type = definition->nests[*nest].out;
        out.bytes_written +=
            static_cast<double>(element_count(type.dims)) * static_cast<double>(info(type.element).size_bytes);
    }
    return out;
}

} // namespace espalier::model
