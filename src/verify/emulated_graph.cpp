#include "emulated_graph.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace espalier::verify::emulated {
namespace {

using program::Graph;
using program::Meaning;
using program::Op;
using program::OpCode;
using program::OpId;
using program::Shape;
using program::TensorId;
using program::TensorInfo;

/// Thrown by whatever is about to exceed the limit, from the depth of a recursion; ends in work_of().
struct TooMuchWork {};

/// The overhead of a call, in values.
constexpr double work_of_call = 64;

/// A graph with the results of inference, the number of ops and outputs that read each tensor, and the meanings of ops.
struct Known {
    explicit Known(Graph const& of) : graph(of), tensors(program::infer(of)), readers(tensors.size()) {
        for (auto const& op : of.ops)
            for (auto const id : op.inputs) ++readers[id];
        for (auto const id : of.outputs) ++readers[id];
        for (auto const& body : of.bodies) bodies.emplace_back(body);
        for (auto const id : tensors.ids()) meanings.push_back(meaning_of(tensors[id]));
    }
    Graph const& graph;
    program::TensorInfos tensors;
    base::IndexedVector<TensorId, int> readers;
    std::vector<Known> bodies;
    base::IndexedVector<TensorId, Meaning> meanings; ///< empty for inputs and for results of graphs

    /// Whether the last tile of an operand is smaller than the others.
    [[nodiscard]] bool reads_tails(Op const& op) const {
        return std::ranges::any_of(
            op.inputs, [&](TensorId id) { return std::ranges::any_of(tensors[id].tails, &program::Tail::is_there); });
    }

private:
    [[nodiscard]] Meaning meaning_of(TensorInfo const& made) const {
        if (made.maker == program::no_op || graph.ops[made.maker].code == OpCode::graph) return {};
        auto const& op = graph.ops[made.maker];
        std::vector<Shape> shapes;
        for (auto const id : op.inputs) shapes.push_back(tensors[id].shape);
        auto const size = op.attributes.whole(program::AttributeName::size, 0);
        auto out = program::meaning_of(program::info(op.code),
                                       {shapes, op.attributes, size, graph.schedule.loop, made.output});
        if (reads_tails(op))
            for (auto& nest : out.nests) nest.reads = skipping(nest.reads);
        return out;
    }
    /// Elements past the end of a last tile are left out.
    static program::Small<program::Read, 4> skipping(program::Small<program::Read, 4> const& reads) {
        program::Small<program::Read, 4> out;
        for (auto read : reads) {
            if (read.outside == program::Outside::never) read.outside = program::Outside::skip;
            out.push(read);
        }
        return out;
    }
};

/// The kernel graph, a block of a grid at a step of its loop, or a thread graph in it; with values that are read again.
struct Site {
    Known const& known;
    Site* outer = nullptr;
    Op const* op = nullptr; ///< of the outer graph, whose body this is
    std::array<std::int64_t, 3> block{};
    std::int64_t step = 0;
    std::map<std::tuple<TensorId, std::int64_t, Box>, Numbers> values{};
};

/// The indices along one dimension that one part of a grid makes.
struct Part {
    std::array<std::int64_t, 3> block{}; ///< its coordinates, -1 where this dimension does not determine them
    std::size_t first = 0;               ///< the place of the first one among all that are wanted
    Indices inside;                      ///< in the tile
};
std::vector<Part> parts_along(program::Schedule const& schedule, int dim, std::int64_t tile, Indices const& wanted) {
    std::vector<Part> out;
    std::int64_t last = -1;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        auto const number = wanted[i] / tile;
        if (number != last) out.push_back({block_of(schedule, dim, number), i, {}});
        out.back().inside.push_back(wanted[i] % tile);
        last = number;
    }
    return out;
}

/// What the nests of an op read: boxes of its operands, then of what the nests make.
struct Sources {
    explicit Sources(std::vector<Box> of) : boxes(std::move(of)), scratch(boxes.size()), values(boxes.size()) {}
    std::vector<Box> boxes;
    std::vector<Numbers> scratch; ///< of those that nothing else keeps
    std::vector<Numbers const*> values;
};

/// The row-major indices of the elements of a box.
std::vector<std::uint64_t> flat_indices(Shape const& shape, Box const& box) {
    std::vector<std::uint64_t> out{0};
    for (std::size_t d = 0; d < box.size(); ++d) {
        std::vector<std::uint64_t> next;
        next.reserve(out.size() * box[d].size());
        auto const size = static_cast<std::uint64_t>(shape[static_cast<int>(d)]);
        for (auto const start : out)
            for (auto const i : box[d]) next.push_back(start * size + static_cast<std::uint64_t>(i));
        out = std::move(next);
    }
    return out;
}

/// Goes backwards through all levels. Without arithmetic it only counts what would be computed, and all values are
/// empty.
class Evaluator {
public:
    Evaluator(InputValue const& input, Arithmetic& arithmetic) : input_(&input), arithmetic_(&arithmetic) {}
    explicit Evaluator(double limit) : limit_(limit) {}

    [[nodiscard]] double work() const { return work_; }
    Numbers value(Site& site, TensorId tensor, Box const& box) {
        Numbers scratch;
        return value(site, tensor, box, scratch);
    }

private:
    /// The blocks and steps of a graph-defined kernel ask for the same elements of the kernel graph again and again.
    Numbers const& value(Site& site, TensorId tensor, Box const& box, Numbers& scratch) {
        auto const& info = site.known.tensors[tensor];
        auto const is_read_again = info.maker != program::no_op && (site.known.readers[tensor] > 1 || !site.outer);
        if (!is_read_again) return scratch = made(site, tensor, box);
        std::tuple key{tensor, info.side == program::LoopSide::in_loop ? site.step : 0, box};
        auto const found = site.values.find(key);
        if (found != site.values.end()) return found->second;
        auto fresh = made(site, tensor, box);
        return site.values.insert_or_assign(std::move(key), std::move(fresh)).first->second;
    }
    Numbers made(Site& site, TensorId tensor, Box const& box) {
        auto const& info = site.known.tensors[tensor];
        if (info.maker == program::no_op) return site.outer ? of_tile(site, tensor, box) : of_input(site, tensor, box);
        auto const& op = site.known.graph.ops[info.maker];
        if (op.code == OpCode::graph) return of_body(site, info, box);
        return of_op(site, op, site.known.meanings[tensor], box);
    }

    Numbers of_input(Site const& site, TensorId tensor, Box const& box) {
        Numbers out;
        spend(volume(box));
        if (is_counting()) return out;
        auto const flat = flat_indices(site.known.tensors[tensor].shape, box);
        out.reserve(flat.size());
        for (auto const index : flat) out.push_back(arithmetic_->input((*input_)(tensor.value, index)));
        return out;
    }
    Numbers of_tile(Site& site, TensorId tensor, Box box) {
        auto const outside = site.op->inputs[static_cast<std::size_t>(tensor.value)];
        if (site.known.graph.level == program::Level::thread) return value(*site.outer, outside, box);
        auto const& schedule = site.known.graph.schedule;
        auto const& cut = schedule.inputs[static_cast<std::size_t>(tensor.value)];
        auto const& tile = site.known.tensors[tensor].shape;
        for (int d = 0; d < tile.rank(); ++d) {
            auto const first = part_of(schedule, cut, d, site.block, site.step) * tile[d];
            for (auto& index : box[static_cast<std::size_t>(d)]) index += first;
        }
        return value(*site.outer, outside, box);
    }

    static double rounded_to(program::DType dtype, double value) {
        return program::round_to(program::info(dtype).format, value);
    }
    /// By its meaning; only the final result is stored.
    Numbers of_op(Site& site, Op const& op, Meaning const& meaning, Box const& box) {
        for (auto const& nest : meaning.nests) require(static_cast<double>(nest.count()));
        Sources sources(needed(meaning, op.inputs.size(), box));
        auto const wanted = site.known.reads_tails(op) ? sources.boxes : std::vector<Box>{};
        for (std::size_t i = 0; i < meaning.nests.size(); ++i) {
            auto const& nest = meaning.nests[i];
            auto const place = op.inputs.size() + i;
            spend(volume(sources.boxes[place]) * static_cast<double>(nest.count()));
            std::optional<NestRun> run;
            keep_what_is_there(site, op, wanted, sources);
            if (!is_counting()) run.emplace(nest, op.attributes, sources.boxes[place], sources.boxes);
            auto const add = [&] {
                if (keep_what_is_there(site, op, wanted, sources) && run) {
                    auto sums = run->take_sums();
                    run.emplace(nest, op.attributes, sources.boxes[place], sources.boxes);
                    run->go_on_from(std::move(sums));
                }
                fetch(site, op, nest, sources);
                if (run) run->add(sources.values);
            };
            is_in_steps(nest) ? for_each_step(site, add) : add();
            if (run) sources.scratch[place] = run->finish(count_of(site, op, nest));
            sources.values[place] = &sources.scratch[place];
        }
        auto& out = sources.scratch.back();
        if (auto const* const dtype = op.attributes.find(program::AttributeName::dtype))
            for (auto& number : out)
                number.low = rounded_to(static_cast<program::DType>(dtype->values.front()), number.low);
        for (auto& number : out) number = arithmetic_->stored(number);
        return std::move(out);
    }
    /// Of the operands, in this block at this step; whether that is another part of them than before. `wanted`: empty
    /// if all tiles are of one size.
    static bool keep_what_is_there(Site const& site, Op const& op, std::vector<Box> const& wanted, Sources& sources) {
        bool has_changed = false;
        for (std::size_t i = 0; i < op.inputs.size() && !wanted.empty(); ++i) {
            auto const& tensor = site.known.tensors[op.inputs[i]];
            auto there = wanted[i];
            for (std::size_t d = 0; d < there.size(); ++d)
                std::erase_if(there[d], [&](std::int64_t index) {
                    return index >= size_at(tensor.shape[static_cast<int>(d)], tensor.tails[d],
                                            site.known.graph.schedule, {site.block, site.step});
                });
            has_changed = has_changed || there != sources.boxes[i];
            sources.boxes[i] = std::move(there);
        }
        return has_changed;
    }
    /// How many values go into a mean. Inference refuses means over some parts only, where tiles are of several sizes.
    static std::int64_t count_of(Site const& site, Op const& op, program::Nest const& nest) {
        auto const& tensor = site.known.tensors[op.inputs[0]];
        for (std::size_t d = 0; d < tensor.tails.size() && is_in_steps(nest); ++d)
            if (auto const& tail = tensor.tails[d]; tail.loop && tail.is_there())
                return whole_size(tensor.shape[static_cast<int>(d)], tail, site.known.graph.schedule);
        return nest.count();
    }
    /// The operands that a nest reads, at the step at hand.
    void fetch(Site& site, Op const& op, program::Nest const& nest, Sources& sources) {
        for (auto const& read : nest.reads) {
            auto const i = read.source;
            auto const is_there = sources.values[i] != nullptr && !is_in_steps(nest);
            if (i < op.inputs.size() && !is_there)
                sources.values[i] = &value(site, op.inputs[i], sources.boxes[i], sources.scratch[i]);
        }
    }
    template <class Each>
    static void for_each_step(Site& site, Each&& each) {
        for (site.step = 0; site.step < site.known.graph.schedule.loop; ++site.step) each();
        site.step = 0;
    }
    [[nodiscard]] bool is_counting() const { return arithmetic_ == nullptr; }
    /// Also before that much memory is taken.
    void require(double work) const {
        if (work_ + work > limit_) throw TooMuchWork();
    }
    void spend(double work) {
        require(work);
        work_ += work + work_of_call;
    }

    /// Block by block of those that make a demanded element.
    Numbers of_body(Site& site, TensorInfo const& info, Box const& box) {
        auto const& op = site.known.graph.ops[info.maker];
        auto const& body = site.known.bodies[static_cast<std::size_t>(op.body)];
        auto const output = body.graph.outputs[static_cast<std::size_t>(info.output)];
        Site inside{.known = body, .outer = &site, .op = &op};
        if (body.graph.level == program::Level::thread) return value(inside, output, box);
        auto const& tile = body.tensors[output].shape;
        std::vector<std::vector<Part>> parts;
        for (int d = 0; d < tile.rank(); ++d)
            parts.push_back(parts_along(body.graph.schedule, d, tile[d], box[static_cast<std::size_t>(d)]));
        require(volume(box));
        Numbers out(is_counting() ? 0 : size_of(box));
        std::vector<Part const*> chosen;
        for_each_choice(parts, chosen, [&] { run_block(inside, output, chosen, box, out); });
        return out;
    }
    /// Calls each() with one part of every dimension in `chosen`.
    template <class Each>
    static void for_each_choice(std::vector<std::vector<Part>> const& parts, std::vector<Part const*>& chosen,
                                Each const& each) {
        if (chosen.size() == parts.size()) return each();
        for (auto const& part : parts[chosen.size()]) {
            chosen.push_back(&part);
            for_each_choice(parts, chosen, each);
            chosen.pop_back();
        }
    }
    void run_block(Site& inside, TensorId output, std::vector<Part const*> const& parts, Box const& box, Numbers& out) {
        inside.values.clear();
        inside.block = {};
        Box local;
        std::vector<std::size_t> places{0};
        for (std::size_t d = 0; d < parts.size(); ++d) {
            for (std::size_t a = 0; a < 3; ++a)
                if (parts[d]->block[a] >= 0) inside.block[a] = parts[d]->block[a];
            local.push_back(parts[d]->inside);
            std::vector<std::size_t> next;
            for (auto const place : places)
                for (std::size_t i = 0; i < local[d].size(); ++i)
                    next.push_back(place * box[d].size() + parts[d]->first + i);
            places = std::move(next);
        }
        Numbers scratch;
        auto const& values = value(inside, output, local, scratch);
        for (std::size_t i = 0; i < values.size(); ++i) out[places[i]] = values[i];
    }

    InputValue const* input_ = nullptr;
    Arithmetic* arithmetic_ = nullptr;
    double limit_ = std::numeric_limits<double>::infinity();
    double work_ = 0;
};

std::vector<Numbers> values_of(Graph const& graph, std::vector<Box> const& of_outputs, Evaluator& evaluator) {
    ESP_EXPECT(of_outputs.size() == graph.outputs.size());
    Known const known(graph);
    Site site{.known = known};
    std::vector<Numbers> out;
    for (std::size_t i = 0; i < of_outputs.size(); ++i)
        out.push_back(evaluator.value(site, graph.outputs[i], of_outputs[i]));
    return out;
}

} // namespace

std::optional<double> work_of(Graph const& graph, std::vector<Box> const& of_outputs, double limit) {
    Evaluator evaluator(limit);
    try {
        static_cast<void>(values_of(graph, of_outputs, evaluator));
    } catch (TooMuchWork const&) {
        return std::nullopt;
    }
    return evaluator.work();
}

std::vector<Numbers> evaluate(Graph const& graph, InputValue const& input, std::vector<Box> const& of_outputs,
                              Arithmetic& arithmetic) {
    Evaluator evaluator(input, arithmetic);
    return values_of(graph, of_outputs, evaluator);
}

} // namespace espalier::verify::emulated
