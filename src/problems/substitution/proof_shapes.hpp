#pragma once

#include "matching.hpp"
#include "proof_sizes.hpp"

#include <array>
#include <map>
#include <vector>

/// Tensors of a rule without numbers: sizes, and where they were put together.
namespace espalier::problems::substitution::proof {

struct Shape {
    int rank = 0;
    std::array<Size, 2> dims;               ///< of axes 0 and 1
    std::array<Leaf, 2> image{};            ///< of rank 4: rows and columns
    std::array<std::vector<Size>, 2> marks; ///< what comes before each, in the order of Layout::marks
};

/// How a convolution's channels belong together.
enum class Grouping : std::uint8_t { one, depthwise };

/// The sizes that both sides of a rule need, and no more.
class Shapes {
public:
    /// The tensors of one side. False if no sizes fit, or if the operator means something only for these numbers.
    [[nodiscard]] bool add(OperatorGraph const& graph, TensorTable& table, std::vector<Shape>& out);
    [[nodiscard]] bool unify(Shape const& a, Shape const& b);
    [[nodiscard]] Shape const& input(Ref slot);
    [[nodiscard]] Shape const& of(Ref ref, std::vector<Shape> const& made) {
        return is_result(ref) ? made[static_cast<std::size_t>(ref - first_result)] : input(ref);
    }
    [[nodiscard]] Size flat(Size const& size) const { return sizes_.flat(size); }
    [[nodiscard]] std::size_t blocks(Size const& size) const { return sizes_.flat(size).size(); }
    [[nodiscard]] Leaf leaf(Leaf of) const { return sizes_.flat({of}).front(); }
    [[nodiscard]] Grouping grouping(Shape const& weight) const;
    /// Whether convolutions of one group still are, now that all sizes are known: a weight whose depth became 1
    /// would be read as one for each channel.
    [[nodiscard]] bool keeps_groups() const;
    /// `X1 [n0, n1], W1 [n1, n2]`: the condition on the inputs.
    [[nodiscard]] std::string condition();

private:
    struct Step;
    [[nodiscard]] bool make(Step const& step, std::array<Shape, 2>& out);
    [[nodiscard]] bool convolved(Step const& step, Shape& out);
    [[nodiscard]] bool joined(Step const& step, std::size_t axis, Shape& out);
    [[nodiscard]] bool split(Step const& step, std::size_t axis, std::array<Shape, 2>& out);
    [[nodiscard]] Shape constant(Operator code);
    [[nodiscard]] bool without(Size const& prefix, Size const& size, Size& rest) const;
    [[nodiscard]] Leaf fresh_leaf() { return sizes_.fresh().front(); }
    [[nodiscard]] bool unify_images(Shape const& a, Shape const& b);

    Sizes sizes_;
    std::map<Ref, Shape> inputs_;
    std::vector<Shape> one_group_; ///< weights of convolutions that have one
};

} // namespace espalier::problems::substitution::proof
