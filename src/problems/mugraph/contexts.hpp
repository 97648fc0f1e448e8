#pragma once

#include "setup.hpp"
#include "states.hpp"

#include "espalier/base/key_error.hpp"

#include <map>
#include <memory>

namespace espalier::problems::mugraph {

/// What kernels know on each of the shrunk shapes: random inputs, and the prints of the outputs that the program itself
/// makes of them.
///
/// Invariant: the program can be evaluated in every context that is there. One per thread; contexts do not move until
/// clear().
class Contexts {
public:
    Contexts(Setup const& setup, expr::Expressions& expressions) : setup_(&setup), expressions_(&expressions) {}

    /// Of the shape that the node's classes of schedules lead to.
    [[nodiscard]] KernelContext& of(Node const& node);
    /// Throws KeyError if the program cannot be evaluated on one of the shrunk shapes that the search may come to.
    void check_program() const;
    void clear() { contexts_.clear(); }
    [[nodiscard]] std::size_t memory_bytes() const;

private:
    [[nodiscard]] std::unique_ptr<KernelContext> make(std::uint32_t unit_dims) const;
    [[nodiscard]] KernelContext draw(std::uint32_t unit_dims, std::uint64_t seed) const;
    enum class Draw : std::uint8_t { may_repeat, last };
    [[nodiscard]] bool set_targets(KernelContext& context, Draw draw) const;
    [[nodiscard]] base::KeyError refusal(program::OpId op, std::string const& problem) const;

    Setup const* setup_;
    expr::Expressions* expressions_;
    std::map<std::uint32_t, std::unique_ptr<KernelContext>> contexts_; ///< by the dimensions that are grids
};

} // namespace espalier::problems::mugraph
