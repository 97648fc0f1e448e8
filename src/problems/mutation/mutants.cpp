#include "espalier/problems/mutation/mutation.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/rng.hpp"
#include "espalier/field/mersenne.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::problems::mutation {
namespace {

std::vector<Move> inverses(std::vector<Move> moves) {
    for (auto& move : moves) move = inverse(move);
    return moves;
}

std::vector<std::uint64_t> random_values(Sizes const& sizes, std::uint64_t seed) {
    base::Rng rng{base::Seed{seed}};
    std::vector<std::uint64_t> out(static_cast<std::size_t>(element_count(sizes)));
    for (auto& value : out) value = field::Mersenne61::reduced(rng());
    return out;
}

std::vector<std::uint64_t> arranged(std::vector<std::uint64_t> const& values, Arrangement const& arrangement) {
    std::vector<std::uint64_t> out;
    out.reserve(values.size());
    for (auto const from : arrangement.from) out.push_back(values[from]);
    return out;
}

/// The products of every element, each as a pair of elements of the two inputs, sorted.
std::vector<std::vector<std::uint64_t>> products(LinearProgram const& program, std::array<Arrangement, 2> const& of,
                                                 bool is_swapped) {
    std::vector<std::vector<std::uint64_t>> out(static_cast<std::size_t>(element_count(program.output().value())));
    for_each_product(program, [&](std::uint32_t element, std::uint32_t a, std::uint32_t b) {
        std::uint64_t const first = of[0].from[a], second = of[1].from[b];
        out[element].push_back(is_swapped ? second << 32 | first : first << 32 | second);
    });
    for (auto& one : out) std::ranges::sort(one);
    return out;
}

std::string axes_text(std::string_view name, std::int32_t h, std::int32_t w) {
    return h == w ? fmt::format(", {} {}", name, h) : fmt::format(", {} {}x{}", name, h, w);
}

} // namespace

void pack(Mutant const& mutant, base::ByteWriter& writer) {
    writer.put(static_cast<std::uint8_t>(mutant.is_swapped));
    for (auto const& moves : mutant.before) writer.put_list(std::span(moves));
    for (auto const& window : mutant.windows)
        for (auto const value : {window.stride, window.dilation, window.padding}) writer.put(value);
    writer.put_list(std::span(mutant.after));
}

Mutant unpack_mutant(base::ByteReader& reader) {
    Mutant out;
    out.is_swapped = reader.get<std::uint8_t>() != 0;
    for (auto& moves : out.before) moves = reader.get_list<std::uint8_t>();
    for (auto& window : out.windows)
        for (auto* value : {&window.stride, &window.dilation, &window.padding}) *value = reader.get<std::int32_t>();
    out.after = reader.get_list<std::uint8_t>();
    return out;
}

void pack(Partial const& partial, base::ByteWriter& writer) {
    pack(partial.mutant, writer);
    writer.put(partial.programs);
    writer.put(partial.equal);
    writer.put(partial.elements);
    writer.put(partial.mask_crc);
}

Partial unpack_partial(base::ByteReader& reader) {
    auto mutant = unpack_mutant(reader);
    auto const programs = reader.get<std::uint64_t>(), equal = reader.get<std::uint64_t>(),
               elements = reader.get<std::uint64_t>();
    return {std::move(mutant), programs, equal, elements, reader.get<std::uint32_t>()};
}

Mutants::Mutants(MutationConfig const& config)
    : config_(config), original_(linear_program(config.program)),
      inputs_{Chains(original_.inputs[0], config.family.moves(static_cast<int>(original_.inputs[0].size())),
                     config.max_ops - 1),
              Chains(original_.inputs[1], config.family.moves(static_cast<int>(original_.inputs[1].size())),
                     config.max_ops - 1)},
      output_(original_.output().value(), inverses(config.family.moves(static_cast<int>(original_.output()->size()))),
              config.max_ops - 1),
      random_{random_values(original_.inputs[0], 1), random_values(original_.inputs[1], 2)},
      original_values_(evaluate(original_, random_[0], random_[1])) {}

Chain const& Mutants::chain(Mutant const& mutant, std::size_t operand) const {
    auto const* found = of_input(input_of(mutant, operand)).find(mutant.before[operand]);
    if (found == nullptr) throw base::SystemError("a packed mutant has moves that this search does not make");
    return *found;
}

LinearProgram Mutants::middle(Mutant const& mutant) const {
    return {
        original_.compute, {chain(mutant, 0).arrangement.sizes, chain(mutant, 1).arrangement.sizes}, mutant.windows};
}

std::vector<std::uint64_t> Mutants::middle_values(Mutant const& mutant) const {
    auto const first = arranged(random_[input_of(mutant, 0)], chain(mutant, 0).arrangement);
    auto const second = arranged(random_[input_of(mutant, 1)], chain(mutant, 1).arrangement);
    return evaluate(middle(mutant), first, second);
}

std::vector<std::uint64_t> Mutants::values(Mutant const& mutant) const {
    auto const* after = output_.find(mutant.after);
    if (after == nullptr) throw base::SystemError("a packed mutant has moves that this search does not make");
    auto const made = middle_values(mutant);
    std::vector<std::uint64_t> out(made.size());
    for (std::size_t i = 0; i < made.size(); ++i) out[after->arrangement.from[i]] = made[i];
    return out;
}

std::vector<std::uint8_t> Mutants::equal_elements(Mutant const& mutant) const {
    auto const expected = products(original_, {unchanged(original_.inputs[0]), unchanged(original_.inputs[1])}, false);
    auto const made =
        products(middle(mutant), {chain(mutant, 0).arrangement, chain(mutant, 1).arrangement}, mutant.is_swapped);
    auto const& after = output_.find(mutant.after)->arrangement;
    std::vector<std::uint8_t> out(made.size());
    for (std::size_t i = 0; i < made.size(); ++i) out[after.from[i]] = made[i] == expected[after.from[i]] ? 1 : 0;
    return out;
}

std::string Mutants::text(Mutant const& mutant) const {
    auto const names = input_names(config_.program);
    auto const wrapped = [](std::string inner, Moves const& moves, std::vector<Move> const& family, int rank) {
        for (auto const move : moves) inner = fmt::format("{}({})", to_text(family[move], rank), inner);
        return inner;
    };
    std::array<std::string, 2> operands;
    for (std::size_t i = 0; i < 2; ++i) {
        auto const input = input_of(mutant, i);
        operands[i] = wrapped(names[input], mutant.before[i], of_input(input).moves(),
                              static_cast<int>(original_.inputs[input].size()));
    }
    auto const& [h, w] = mutant.windows;
    auto const inner =
        original_.compute == Compute::matmul
            ? fmt::format("matmul({}, {})", operands[0], operands[1])
            : fmt::format("conv({}, {}{}{}{})", operands[0], operands[1], axes_text("stride", h.stride, w.stride),
                          axes_text("dilation", h.dilation, w.dilation), axes_text("padding", h.padding, w.padding));
    auto const after = Moves(mutant.after.rbegin(), mutant.after.rend());
    return wrapped(inner, after, inverses(output_.moves()), static_cast<int>(original_.output()->size()));
}

} // namespace espalier::problems::mutation
