#pragma once

#include "espalier/program/op.hpp"

/// Every shape rule once, for numbers and for symbols.
namespace espalier::program::rules {

/// Right-aligned broadcasting: sizes are equal, or one of them is 1.
template <class D>
std::optional<Dims<D>> broadcast(Dims<D> const& a, Dims<D> const& b) {
    auto const& longer = a.rank() >= b.rank() ? a : b;
    auto const& shorter = a.rank() >= b.rank() ? b : a;
    auto out = longer;
    auto const skip = longer.rank() - shorter.rank();
    for (int i = 0; i < shorter.rank(); ++i) {
        auto const &x = longer[skip + i], &y = shorter[i];
        if (!(x == y) && !is_one(x) && !is_one(y)) return std::nullopt;
        out[skip + i] = is_one(x) ? y : x;
    }
    return out;
}

struct Pointwise {
    template <class D>
    static std::optional<Dims<D>> shape(RuleInput<D> const& in) {
        auto out = std::optional(in.shapes[0]);
        for (std::size_t i = 1; i < in.shapes.size() && out; ++i) out = broadcast(*out, in.shapes[i]);
        return out;
    }
};

/// Leading dimensions are equal; an operand that has fewer of them is used for all.
template <class D>
std::optional<Dims<D>> product_shape(Dims<D> const& a, Dims<D> const& b, bool is_transposed) {
    if (a.rank() < 2 || b.rank() < 2) return std::nullopt;
    auto const inner = b[b.rank() - (is_transposed ? 1 : 2)], columns = b[b.rank() - (is_transposed ? 2 : 1)];
    if (!(a.back() == inner)) return std::nullopt;
    auto out = a.rank() >= b.rank() ? a : b;
    auto const &longer = out, &shorter = a.rank() >= b.rank() ? b : a;
    auto const skip = longer.rank() - shorter.rank();
    for (int i = 0; i < shorter.rank() - 2; ++i)
        if (!(longer[skip + i] == shorter[i])) return std::nullopt;
    out[out.rank() - 2] = a[a.rank() - 2];
    out[out.rank() - 1] = columns;
    return out;
}
template <bool IsTransposed>
struct Contraction {
    template <class D>
    static std::optional<Dims<D>> shape(RuleInput<D> const& in) {
        auto const terms = in.shapes.size() / 2;
        auto const out = product_shape(in.shapes[0], in.shapes[terms], IsTransposed);
        for (std::size_t t = 1; t < terms && out; ++t)
            if (product_shape(in.shapes[t], in.shapes[terms + t], IsTransposed) != out) return std::nullopt;
        return out;
    }
};
using Matmul = Contraction<false>;

struct Same {
    template <class D>
    static std::optional<Dims<D>> shape(RuleInput<D> const& in) {
        return in.shapes[0];
    }
};

/// Along an axis that exists.
struct Along {
    template <class D>
    static std::optional<Dims<D>> shape(RuleInput<D> const& in) {
        if (!axis_of(in.attributes, in.shapes[0])) return std::nullopt;
        return in.shapes[0];
    }
};

struct ToOne {
    template <class D>
    static std::optional<Dims<D>> shape(RuleInput<D> const& in) {
        auto const axis = axis_of(in.attributes, in.shapes[0]);
        if (!axis) return std::nullopt;
        auto out = in.shapes[0];
        if constexpr (std::is_same_v<D, std::int64_t>)
            out[*axis] = 1;
        else
            out[*axis] = D{};
        return out;
    }
};

struct ToSize {
    template <class D>
    static std::optional<Dims<D>> shape(RuleInput<D> const& in) {
        auto const axis = axis_of(in.attributes, in.shapes[0]);
        if (!axis || !divides(in.size, in.shapes[0][*axis])) return std::nullopt;
        auto out = in.shapes[0];
        out[*axis] = in.size;
        return out;
    }
};

/// Of the first operand, to which the second broadcasts.
template <class Rule>
struct Weighted {
    template <class D>
    static std::optional<Dims<D>> shape(RuleInput<D> const& in) {
        auto const both = broadcast(in.shapes[0], in.shapes[1]);
        if (!both || !(*both == in.shapes[0])) return std::nullopt;
        return Rule::shape(in);
    }
};

struct Permuted {
    template <class D>
    static std::optional<Dims<D>> shape(RuleInput<D> const& in) {
        auto const order = permutation_of(in.attributes, in.shapes[0].rank());
        if (!order) return std::nullopt;
        auto out = in.shapes[0];
        for (int i = 0; i < out.rank(); ++i) out[i] = in.shapes[0][(*order)[static_cast<std::size_t>(i)]];
        return out;
    }
};

struct Reshaped {
    template <class D>
    static std::optional<Dims<D>> shape(RuleInput<D> const& in) {
        if constexpr (std::is_same_v<D, std::int64_t>) {
            return reshaped(in.attributes, element_count(in.shapes[0]));
        } else {
            if (!in.sizes || in.sizes->rank() == 0 || !(product(*in.sizes) == product(in.shapes[0])))
                return std::nullopt;
            return *in.sizes;
        }
    }
    static Word product(SymbolicShape const& shape) {
        Word out;
        for (auto const& word : shape) out = out * word;
        return out;
    }
};

struct Sliced {
    template <class D>
    static std::optional<Dims<D>> shape(RuleInput<D> const& in) {
        auto const axis = axis_of(in.attributes, in.shapes[0]);
        if (!axis) return std::nullopt;
        auto out = in.shapes[0];
        if constexpr (std::is_same_v<D, std::int64_t>) {
            auto const slice = slice_of(in.attributes, out[*axis]);
            if (!slice) return std::nullopt;
            out[*axis] = slice->size;
        } else {
            if (!in.sizes || in.sizes->rank() != 2 || !(out[*axis] == (*in.sizes)[0])) return std::nullopt;
            out[*axis] = in.sizes->back();
        }
        return out;
    }
};

/// All dimensions but the axis are equal.
struct Joined {
    template <class D>
    static std::optional<Dims<D>> shape(RuleInput<D> const& in) {
        auto const axis = axis_of(in.attributes, in.shapes[0]);
        if (!axis) return std::nullopt;
        auto out = in.shapes[0];
        for (auto const& shape : in.shapes) {
            if (shape.rank() != out.rank()) return std::nullopt;
            for (int i = 0; i < out.rank(); ++i)
                if (i != *axis && !(shape[i] == out[i])) return std::nullopt;
        }
        auto const total = size_of(in, *axis);
        if (!total) return std::nullopt;
        out[*axis] = *total;
        return out;
    }

private:
    template <class D>
    static std::optional<D> size_of(RuleInput<D> const& in, int axis) {
        if constexpr (std::is_same_v<D, std::int64_t>) {
            std::int64_t out = 0;
            for (auto const& shape : in.shapes) out += shape[axis];
            return out;
        } else {
            auto const count = static_cast<int>(in.shapes.size());
            if (!in.sizes || in.sizes->rank() != count + 1) return std::nullopt;
            for (int i = 0; i < count; ++i)
                if (!(in.shapes[static_cast<std::size_t>(i)][axis] == (*in.sizes)[i])) return std::nullopt;
            return in.sizes->back();
        }
    }
};

} // namespace espalier::program::rules
