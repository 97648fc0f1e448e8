#include "espalier/problems/mutation/mutation.hpp"

#include "espalier/config/suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace espalier::problems::mutation {

using namespace config; // the words of the table below

namespace {

constexpr std::int64_t most_elements = 65'536; ///< of a tensor: every one of them is examined
constexpr std::int64_t most_products = std::int64_t{1} << 26;
constexpr std::int64_t most_size = 1'000'000;

std::optional<std::int64_t> number_in(std::string const& word) {
    std::int64_t out = 0;
    auto const* end = word.data() + word.size();
    auto const [at, error] = std::from_chars(word.data(), end, out);
    return error == std::errc{} && at == end ? std::optional(out) : std::nullopt;
}

/// A number, or the name of a dimension; nothing if it is neither.
std::optional<std::int64_t> size_of(std::string const& word, ProgramConfig const& program) {
    if (auto const number = number_in(word)) return number;
    auto const found = std::ranges::find(program.dims, word, &DimConfig::name);
    return found == program.dims.end() ? std::nullopt : std::optional(found->size);
}

/// `{B: 4, C: 512}`, in the order of writing.
Codec<std::vector<DimConfig>> dims_codec() {
    auto const size = integer<std::int64_t>({1, most_size});
    auto read = [size](Value const& map, Context const& at) -> std::optional<std::vector<DimConfig>> {
        if (!expect_map(map, at)) return std::nullopt;
        std::vector<DimConfig> dims;
        for (auto const& entry : map.entries)
            if (auto const one = read_scalar(size, entry.value, at.in(entry.key))) dims.push_back({entry.key, *one});
        return dims.size() == map.entries.size() ? std::optional(dims) : std::nullopt;
    };
    auto write = [size](std::vector<DimConfig> const& dims) {
        auto map = make_map();
        for (auto const& dim : dims) map.entries.push_back({dim.name, {}, size.write(dim.size)});
        return map;
    };
    return {read, write, [size] { return base::Json{{"type", "object"}, {"additionalProperties", size.schema}}; }};
}

/// `{X: [4, 512, 14, 14]}`, in the order of writing.
Codec<std::vector<InputConfig>> inputs_codec() {
    auto const sizes = shared(list_of(Codec<std::string>(text())));
    auto read = [sizes](Value const& map, Context const& at) -> std::optional<std::vector<InputConfig>> {
        if (!expect_map(map, at)) return std::nullopt;
        std::vector<InputConfig> inputs;
        for (auto const& entry : map.entries)
            if (auto one = sizes->read(entry.value, at.in(entry.key))) inputs.push_back({entry.key, std::move(*one)});
        return inputs.size() == map.entries.size() ? std::optional(inputs) : std::nullopt;
    };
    auto write = [](std::vector<InputConfig> const& inputs) {
        auto map = make_map();
        for (auto const& input : inputs) {
            Value list;
            list.kind = Value::Kind::list;
            for (auto const& size : input.sizes) list.items.push_back(make_plain(size));
            map.entries.push_back({input.name, {}, std::move(list)});
        }
        return map;
    };
    return {read, write, [] {
                auto const size = base::Json{{"type", base::Json::array({"integer", "string"})}};
                return base::Json{{"type", "object"}, {"additionalProperties", {{"type", "array"}, {"items", size}}}};
            }};
}

/// `2`, or `[2, 1]` for height and width.
Codec<std::array<std::int32_t, 2>> pair_codec(Range<std::int32_t> range) {
    using Pair = std::array<std::int32_t, 2>;
    auto const one = shared(Codec<std::int32_t>(integer<std::int32_t>(range)));
    auto read = [one](Value const& value, Context const& at) -> std::optional<Pair> {
        if (value.kind != Value::Kind::list) {
            auto const both = one->read(value, at);
            return both ? std::optional(Pair{*both, *both}) : std::nullopt;
        }
        auto const list = read_list(*one, value, at);
        if (list && list->size() == 2) return Pair{(*list)[0], (*list)[1]};
        if (list)
            at.error(value.place,
                     fmt::format("{} has {} numbers: use one, or [height, width]", at.name(), list->size()));
        return std::nullopt;
    };
    auto write = [one](Pair const& pair) {
        return pair[0] == pair[1] ? one->write(pair[0])
                                  : write_list(*one, std::vector<std::int32_t>(pair.begin(), pair.end()));
    };
    return {read, write, [one] {
                return base::Json{
                    {"anyOf", base::Json::array({one->schema(), {{"type", "array"}, {"items", one->schema()}}})}};
            }};
}

Section<OpConfig> op_section() {
    auto const is_conv = [](OpConfig const& op) { return op.op == Compute::conv; };
    Section<OpConfig> section;
    section.field({"out", "name of its result", "Y"}, &OpConfig::out, text())
        .field({"op", "what multiplies the two inputs", "conv"}, &OpConfig::op,
               choice<Compute>({{"conv", Compute::conv}, {"matmul", Compute::matmul}}))
        .field({"in", "names of its operands: an image NCHW and a kernel OIHW, or two matrices", "[X, W]"},
               &OpConfig::in, list_of(Codec<std::string>(text())))
        .field({"stride", "a number or [height, width]"}, &OpConfig::stride, pair_codec({1, 16}))
        .only_if(is_conv, "convolutions")
        .field({"dilation", "a number or [height, width]"}, &OpConfig::dilation, pair_codec({1, 16}))
        .only_if(is_conv, "convolutions")
        .field({"padding", "zeros on each side: a number or [height, width]"}, &OpConfig::padding, pair_codec({0, 64}))
        .only_if(is_conv, "convolutions");
    return section;
}

Place place_of(Value const& map, std::string const& key) {
    auto const* entry = map.find(key);
    return entry != nullptr ? entry->value.place : map.place;
}

/// What is wrong with the list of ops, or nothing.
std::optional<std::string> problem_of_op(ProgramConfig const& program) {
    if (program.ops.size() != 1)
        return fmt::format("has {} ops: use one, conv or matmul; a longer program is mutated piece by piece",
                           program.ops.size());
    auto const& op = program.ops[0];
    if (op.in.size() != 2 || op.in[0] == op.in[1])
        return fmt::format("{} needs two different inputs: use [X, W]", op.op == Compute::conv ? "conv" : "matmul");
    std::vector<std::string> names;
    for (auto const& input : program.inputs) names.push_back(input.name);
    for (auto const& name : op.in)
        if (std::ranges::find(names, name) == names.end())
            return fmt::format("reads '{}', which is not an input{}; there are: {}", name, did_you_mean(name, names),
                               fmt::join(names, ", "));
    return std::nullopt;
}

/// What is wrong with the sizes of an input, or nothing.
std::optional<std::string> problem_of_input(InputConfig const& input, ProgramConfig const& program) {
    auto const rank = program.ops[0].op == Compute::conv ? 4u : 2u;
    if (input.sizes.size() != rank)
        return fmt::format("has {} dimensions: {} needs {}", input.sizes.size(), rank == 4 ? "conv" : "matmul", rank);
    std::int64_t elements = 1;
    for (auto const& word : input.sizes) {
        auto const size = size_of(word, program);
        if (!size || *size < 1 || *size > most_size)
            return fmt::format("has the size '{}': use a whole number of at least 1, or a name of dims", word);
        elements = std::min(elements * *size, most_size);
    }
    if (elements <= most_elements) return std::nullopt;
    return fmt::format("has more than {} elements: every element is examined one by one; use fewer channels",
                       most_elements);
}

std::optional<std::string> problem_of_sizes(ProgramConfig const& program) {
    auto const linear = linear_program(program);
    auto const out = linear.output();
    if (!out)
        return "does not fit its operands: channels (or inner sizes) must agree and the kernel lie within the padded "
               "image";
    if (element_count(*out) > most_elements)
        return fmt::format("makes more than {} elements: every element is examined one by one; use smaller sizes",
                           most_elements);
    auto const each =
        linear.compute == Compute::matmul ? linear.inputs[0][1] : element_count(linear.inputs[1]) / linear.inputs[1][0];
    if (element_count(*out) * each <= most_products) return std::nullopt;
    return fmt::format("sums more than {} products: they are compared one by one; use fewer channels", most_products);
}

bool check_program(ProgramConfig const& program, Value const& map, Context const& at) {
    auto const refuse = [&](std::string const& key, std::string const& problem) {
        at.error(place_of(map, key), fmt::format("{} {}", at.in(key).name(), problem));
        return false;
    };
    if (auto const problem = problem_of_op(program)) return refuse("ops", *problem);
    if (program.inputs.size() != 2) return refuse("inputs", "must have two inputs, both read by the op");
    if (program.outputs != std::vector{program.ops[0].out})
        return refuse("outputs", fmt::format("must be the op's result: use [{}]", program.ops[0].out));
    for (auto const& input : program.inputs)
        if (auto const problem = problem_of_input(input, program))
            return refuse("inputs", fmt::format("'{}' {}", input.name, *problem));
    if (auto const problem = problem_of_sizes(program)) return refuse("ops", *problem);
    return true;
}

Section<ProgramConfig> program_section() {
    Section<ProgramConfig> section;
    section.field({"dims", "sizes with names, for inputs"}, &ProgramConfig::dims, dims_codec())
        .field({"inputs", "the two inputs and their sizes", "{X: [2, 2, 4, 4], W: [2, 2, 3, 3]}"},
               &ProgramConfig::inputs, inputs_codec())
        .field({"ops", "the op that multiplies them", "[{out: Y, op: conv, in: [X, W], padding: 1}]"},
               &ProgramConfig::ops, list_of(op_section().codec()))
        .field({"outputs", "its result", "[Y]"}, &ProgramConfig::outputs, list_of(Codec<std::string>(text())))
        .check(check_program);
    return section;
}

/// A word, or a list of moves.
Codec<Family> family_codec() {
    auto const word = choice<Family::Kind>({{"named10", Family::Kind::named10}, {"generic", Family::Kind::generic}});
    auto const list = shared(list_of(Codec<std::string>(text())));
    auto read = [word, list](Value const& value, Context const& at) -> std::optional<Family> {
        if (value.kind != Value::Kind::list) {
            auto const kind = read_scalar(word, value, at);
            return kind ? std::optional(Family{*kind, {}}) : std::nullopt;
        }
        auto names = list->read(value, at);
        if (!names) return std::nullopt;
        for (std::size_t i = 0; i < names->size(); ++i) {
            if (find_move((*names)[i], 4) || find_move((*names)[i], 2)) continue;
            at.error(
                value.items[i].place,
                fmt::format("'{}' is not a move: use N2H, H2N, N2W, W2N, C2H, C2W, sortH, unsortH, sortW, unsortW, "
                            "transpose, or a digit's way such as N.low>H.high",
                            (*names)[i]));
            return std::nullopt;
        }
        return Family{Family::Kind::listed, std::move(*names)};
    };
    auto write = [word, list](Family const& family) {
        return family.kind == Family::Kind::listed ? list->write(family.listed) : word.write(family.kind);
    };
    return {read, write, [word, list] {
                return base::Json{{"anyOf", base::Json::array({word.schema, list->schema()})}};
            }};
}

Section<MutationConfig> mutation_section() {
    Section<MutationConfig> section;
    section
        .field({"program", "the linear program that is mutated",
                "{inputs: {X: [2, 2, 4, 4], W: [2, 2, 3, 3]}, ops: [{out: Y, op: conv, in: [X, W], padding: 1}], "
                "outputs: [Y]}"},
               &MutationConfig::program, program_section().codec())
        .field({"family", "moves of digits between axes: PET's ten, all of them (generic), or a list"},
               &MutationConfig::family, family_codec())
        .field({"max_ops", "ops of the longest programs, the one in the middle included"}, &MutationConfig::max_ops,
               integer<std::int32_t>({1, most_ops}));
    return section;
}

} // namespace

LinearProgram linear_program(ProgramConfig const& config) {
    auto const& op = config.ops.at(0);
    LinearProgram out{.compute = op.op, .inputs = {}, .windows = {}};
    for (std::size_t i = 0; i < 2; ++i) {
        auto const input = std::ranges::find(config.inputs, op.in[i], &InputConfig::name);
        for (auto const& word : input->sizes)
            out.inputs[i].push_back(static_cast<std::int32_t>(size_of(word, config).value()));
        out.windows[i] = {op.stride[i], op.dilation[i], op.padding[i]};
    }
    return out;
}

std::array<std::string, 2> input_names(ProgramConfig const& config) {
    return {config.ops.at(0).in.at(0), config.ops.at(0).in.at(1)};
}

ProblemSectionOf<MutationConfig> const& problem_section() {
    using enum SharedKey;
    static ProblemSectionOf<MutationConfig> const section(
        {.name = "mutation",
         .example = "{kind: mutation, program: {...}, family: named10, max_ops: 3}",
         .file = "config/mutation/dilated-conv.yaml",
         .reads = {max_results, verify_batch}},
        mutation_section());
    return section;
}

} // namespace espalier::problems::mutation
