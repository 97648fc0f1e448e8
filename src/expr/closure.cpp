#include "closure.hpp"

namespace espalier::expr {
namespace {

/// Adds what is not there yet.
void add(std::vector<ExprId>& to, ExprId e) {
    if (e != zero && e != one && std::ranges::find(to, e) == to.end()) to.push_back(e);
}

void add_inner(Store const& store, MonoId id, std::vector<ExprId>& to) {
    auto const mono = store[id];
    add(to, mono.below);
    add(to, mono.exponent);
    add(to, mono.root);
    for (auto const atom : mono.atoms)
        for (auto const argument : store[atom].arguments) add(to, argument);
}

} // namespace

std::vector<ExprId> closure_of(Store const& store, std::span<ExprId const> expressions) {
    std::vector<ExprId> found;
    for (auto const e : expressions) add(found, e);
    for (std::size_t i = 0; i < found.size(); ++i)
        for (auto const mono : store[found[i]]) add_inner(store, mono, found);
    return found;
}

bool has(Store const& store, Mono const& mono, program::OpCode function) {
    if (function == program::OpCode::exp && mono.exponent != zero) return true;
    if (function == program::OpCode::sqrt && mono.root != one) return true;
    return std::ranges::any_of(mono.atoms,
                               [&](AtomId id) { return !store[id].is_leaf() && store[id].function == function; });
}

} // namespace espalier::expr
