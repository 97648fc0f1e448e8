#include "shrink.hpp"

#include "classes.hpp"
#include "path.hpp"
#include "programs.hpp"

#include "espalier/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>

/// The shapes on which candidates are compared: there is a second one for every class of schedules, and it is another.
namespace espalier::problems::mugraph {
namespace {

using program::SymbolicShape;
using program::Word;

/// How many parts a dimension is cut into by one kernel, counted from the numbers alone.
std::int64_t parts_of(Target const& target, Begin const& begin, int kernel, std::pair<Cut, int> const& cut_and_dim,
                      Sizes const& sizes) {
    auto const& [cut, dim] = cut_and_dim;
    std::int64_t parts = 1;
    for (std::size_t a = 0; a < 3; ++a) {
        auto const symbol =
            begin.axes[a].is_dim() ? begin.axes[a].dim() : target.axis_symbol(kernel, static_cast<int>(a));
        if (cut.grid[a] == dim) parts *= sizes[static_cast<std::size_t>(symbol)];
    }
    return cut.loop == dim ? parts * sizes[static_cast<std::size_t>(target.loop_symbol(kernel))] : parts;
}

/// Whether all cuts of all kernels of a node leave whole tiles; of at least `least` elements where a grid of any size
/// or a loop cuts.
bool divides(Target const& target, Node const& node, program::SymbolicShapes const& shapes, Sizes const& sizes,
             std::int64_t least) {
    for (int k = 0; k < node.begins; ++k) {
        auto const& begin = node.begin[static_cast<std::size_t>(k)];
        for (std::size_t i = 0; i < begin.count; ++i)
            for (int d = 0; d < shapes[program::TensorId{begin.operands[i]}].rank(); ++d) {
                auto const size = shapes[program::TensorId{begin.operands[i]}][d].value(sizes);
                auto const parts = parts_of(target, begin, k, {begin.cuts[i], d}, sizes);
                auto const is_own_grid = std::ranges::any_of(begin.axes, [&](Axis axis) { return axis.is_dim(); });
                if (size < 1 || size % parts != 0) return false;
                if (parts > 1 && !is_own_grid && size / parts < least) return false;
            }
    }
    return true;
}

/// Grids and loops that are there, on some sizes.
std::vector<std::int64_t> numbers_of(Target const& target, Node const& node, Sizes const& sizes) {
    std::vector<std::int64_t> out;
    for (int k = 0; k < node.begins; ++k) {
        auto const& begin = node.begin[static_cast<std::size_t>(k)];
        for (int a = 0; a < 3; ++a) out.push_back(target.axis_word(begin, k, a).value(sizes));
        out.push_back(target.loop_word(begin, k).value(sizes));
    }
    return out;
}

struct Tally {
    int classes = 0, with_two_kernels = 0;
};

/// All that a second shape is for: it is there, it is another one, and it shows what a cut leaves.
void expect_second_shape(Target const& target, Node const& node, program::SymbolicShapes const& shapes, Tally& tally) {
    auto const first = first_sizes(target, unit_dims_of(node));
    if (!divides(target, node, shapes, first, 1)) return; // no search comes to it
    auto const second = second_sizes(target, node, shapes);

    ++tally.classes;
    tally.with_two_kernels += node.begins > 1 ? 1 : 0;
    EXPECT_TRUE(divides(target, node, shapes, second, node.begins == 1 ? 2 : 1)) << "class " << tally.classes;
    auto const is_cut = [](Begin const& begin) {
        return begin.has_loop() || std::ranges::any_of(begin.axes, &Axis::is_there);
    };
    if (std::any_of(node.begin.begin(), node.begin.begin() + node.begins, is_cut)) { // one block has no numbers
        EXPECT_NE(numbers_of(target, node, first), numbers_of(target, node, second));
    }
    for (auto const& [whole, part] : target.multiples) {
        EXPECT_EQ(second[static_cast<std::size_t>(whole)] % second[static_cast<std::size_t>(part)], 0);
        EXPECT_GT(second[static_cast<std::size_t>(whole)], second[static_cast<std::size_t>(part)]);
    }
}

/// Every set of up to `max_operands` tensors.
std::vector<std::vector<std::uint8_t>> operand_sets(std::size_t tensors) {
    std::vector<std::vector<std::uint8_t>> out;
    for (std::uint32_t set = 1; set < 1u << tensors; ++set) {
        if (__builtin_popcount(set) > max_operands) continue;
        auto& operands = out.emplace_back();
        for (std::uint8_t i = 0; i < tensors; ++i)
            if (set >> i & 1u) operands.push_back(i);
    }
    return out;
}

/// Calls see(node) with one more graph-defined kernel on some of these tensors, for each class.
template <class See>
void for_each_kernel_on(Node const& node, Space const& space, program::SymbolicShapes const& shapes,
                        std::vector<std::uint8_t> const& operands, See&& see) {
    std::vector<SymbolicShape> of_operands;
    for (auto const operand : operands) of_operands.push_back(shapes[program::TensorId{operand}]);
    auto child = node;
    auto& begin = child.begin[child.begins++];
    for (auto const& one : classes_of(space, of_operands)) {
        begin = one;
        std::ranges::copy(operands, begin.operands.begin());
        see(child);
    }
}

/// Of a kernel that outputs one of its tiles, along the dimensions from which its axes cut it or along others.
std::vector<SymbolicShape> results_of(Target const& target, Node const& node, program::SymbolicShapes const& shapes) {
    auto const& begin = node.begin[0];
    std::vector<SymbolicShape> out;
    for (int i = 0; i < begin.count; ++i) {
        auto const tile =
            target.tile(shapes[program::TensorId{begin.operands[static_cast<std::size_t>(i)]}], begin, 0, i);
        for (int shift = 0; shift < tile.rank(); ++shift) {
            std::array<int, 3> joins{-1, -1, -1};
            for (int a = 0; a < 3; ++a)
                if (begin.axes[static_cast<std::size_t>(a)].is_there())
                    joins[static_cast<std::size_t>(a)] = (shift + a) % tile.rank();
            out.push_back(target.joined(tile, begin, 0, joins));
        }
    }
    return out;
}

/// All classes of one kernel, and of two kernels some, drawn at random.
Tally check_all_classes(MugraphConfig const& config) {
    Target const target(config.program);
    auto const space = make_space(config);
    program::SymbolicShapes const inputs(
        std::vector(target.shapes.begin(), target.shapes.begin() + std::ssize(target.graph.inputs)));
    base::Rng rng{base::Seed{5}};
    Tally tally;
    auto const see_two = [&](Node const& node) {
        auto const results = results_of(target, node, inputs);
        auto shapes = inputs;
        shapes.push_back(results[rng.below(results.size())]);
        auto const sets = operand_sets(shapes.size());
        for_each_kernel_on(node, space, shapes, sets[rng.below(sets.size())], [&](Node const& two) {
            if (rng.below(8) == 0) expect_second_shape(target, two, shapes, tally);
        });
    };
    for (auto const& operands : operand_sets(inputs.size()))
        for_each_kernel_on({}, space, inputs, operands, [&](Node const& node) {
            expect_second_shape(target, node, inputs, tally);
            if (space.graph_kernels > 1 && rng.below(16) == 0) see_two(node);
        });
    return tally;
}

TEST(SecondSizes, divide_for_every_class_of_every_built_in_in_both_spaces) {
    int two_kernels = 0;
    for (auto const& builtin : program::builtins()) {
        std::vector<std::int64_t> sizes;
        for (auto const& key : builtin.keys) sizes.push_back(key.default_size);
        for (auto const preset : {SpaceConfig::Preset::mirage, SpaceConfig::Preset::full}) {
            SCOPED_TRACE(builtin.name);
            auto const tally = check_all_classes(experiment(std::string(builtin.name), sizes, preset));
            EXPECT_GT(tally.classes, 2);
            two_kernels += tally.with_two_kernels;
        }
    }
    EXPECT_GT(two_kernels, 100);
}

/// Kernels that no preset makes: three axes, dimensions that are grids, loops anywhere.
Begin random_class(Target const& target, program::SymbolicShapes const& shapes, base::Rng& rng) {
    Begin begin;
    begin.count = static_cast<std::uint8_t>(1 + rng.below(std::min<std::size_t>(shapes.size(), max_operands)));
    for (std::size_t a = 0; a <= rng.below(3); ++a) begin.axes[a] = {Axis::generic};
    if (rng.below(3) == 0)
        begin.axes[0] = {static_cast<std::uint8_t>(Axis::of_dim + rng.below(static_cast<std::uint64_t>(target.dims)))};
    for (std::size_t i = 0; i < begin.count; ++i) {
        auto const operand = begin.operands[i] = static_cast<std::uint8_t>(rng.below(shapes.size()));
        auto const draw = [&] {
            auto const dim =
                static_cast<int>(rng.below(static_cast<std::uint64_t>(shapes[program::TensorId{operand}].rank()) + 1)) -
                1;
            return static_cast<std::int8_t>(dim >= 0 && shapes[program::TensorId{operand}][dim].is_unit() ? -1 : dim);
        };
        auto& cut = begin.cuts[i];
        cut.loop = draw();
        for (std::size_t a = 0; a < 3; ++a)
            if (auto const dim = draw(); begin.axes[a].is_there() && !std::ranges::count(cut.grid, dim))
                cut.grid[a] = dim;
    }
    return begin;
}

bool splits_with_every_axis(Begin const& begin) {
    for (std::size_t a = 0; a < 3; ++a) {
        auto const splits = std::ranges::any_of(begin.cuts, [&](Cut const& cut) { return cut.grid[a] >= 0; });
        if (begin.axes[a].is_there() && !splits) return false;
    }
    return true;
}

TEST(SecondSizes, divide_for_random_classes) {
    base::Rng rng{base::Seed{11}};
    Tally tally;
    for (auto const& config : {mirage("gqa", {2, 16, 1, 16, 1024, 64}), full("lora", {16, 256, 512, 16})}) {
        Target const target(config.program);
        for (int round = 0; round < 4000; ++round) {
            Node node;
            node.begins = 1;
            auto const& begin = node.begin[0] = random_class(target, target.shapes, rng);
            if (splits_with_every_axis(begin)) expect_second_shape(target, node, target.shapes, tally);
        }
    }
    EXPECT_GT(tally.classes, 1000);
}

/// Grids and loops of 2 leave tiles of 2 from 8; what is a grid itself is 2.
TEST(FirstSizes, are_eights_and_twos) {
    Target const target(two_kernels(SpaceConfig::Schedules::all).program);
    auto const all = first_sizes(target, 0), batch = first_sizes(target, 1);

    for (int dim = 0; dim < target.dims; ++dim) EXPECT_EQ(all[static_cast<std::size_t>(dim)], 8);
    EXPECT_EQ(batch[0], 2);
    EXPECT_EQ(batch[1], 8);
    EXPECT_EQ(all[static_cast<std::size_t>(target.axis_symbol(0, 0))], 2);
    EXPECT_EQ(all[static_cast<std::size_t>(target.loop_symbol(1))], 2);
}

TEST(FirstSizes, the_dimensions_that_are_grids_of_any_kernel_are_found) {
    Node node;
    EXPECT_EQ(unit_dims_of(node), 0u);
    node.begins = 2;
    node.begin[0].axes[0] = {Axis::of_dim + 1};
    node.begin[0].axes[1] = {Axis::generic};
    node.begin[1].axes[2] = {Axis::of_dim + 3};
    EXPECT_EQ(unit_dims_of(node), 0b1010u);
    node.begins = 1;
    EXPECT_EQ(unit_dims_of(node), 0b10u);
}

} // namespace
} // namespace espalier::problems::mugraph
