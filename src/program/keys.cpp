#include "espalier/base/hash.hpp"
#include "espalier/program/graph.hpp"

#include <algorithm>
#include <bit>

namespace espalier::program {
namespace {

using Hash = std::uint64_t;
enum class Sizes : std::uint8_t { kept, ignored };

/// Mixes values one after the other.
class Mixer {
public:
    explicit Mixer(std::string_view kind) : hash_(base::hash_text(kind)) {}
    Mixer& add(Hash value) {
        hash_ = base::hash_combine(hash_, value);
        return *this;
    }
    Mixer& add_whole(std::int64_t value) { return add(static_cast<Hash>(value)); }
    template <class Values>
    Mixer& add_all(Values const& values) {
        for (auto const value : values) add_whole(static_cast<std::int64_t>(value));
        return *this;
    }
    /// In any order.
    Mixer& add_set(std::vector<Hash> values) {
        std::ranges::sort(values);
        add(values.size());
        for (auto const value : values) add(value);
        return *this;
    }
    [[nodiscard]] Hash get() const { return hash_; }

private:
    Hash hash_;
};

/// Hashes every value of a graph from the values it is made of. A kernel is the set of values that it computes, so the
/// order of ops, of operands of a kernel and of its outputs does not matter; computing a value twice does.
class Hasher {
public:
    Hasher(Graph const& graph, Sizes sizes) : graph_(graph), sizes_(sizes), tensors_(infer(graph)) {}

    /// Of a program: its inputs are told apart by position, its outputs by order.
    [[nodiscard]] Hash whole() {
        for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
            Mixer input("input");
            input.add(i);
            if (sizes_ == Sizes::kept) input.add_all(graph_.inputs[i].shape);
            values_.push_back(tile(i, input.get()));
        }
        add_ops();
        Mixer out("program");
        out.add(static_cast<Hash>(graph_.level)).add(static_cast<Hash>(graph_.dtype)).add(graph_.inputs.size());
        add_schedule(out);
        return out.add_set(op_values_).add_all(output_values()).get();
    }
    /// Of the outputs of a kernel that reads the given values.
    [[nodiscard]] std::vector<Hash> outputs_of_kernel(std::vector<Hash> const& operands) {
        for (std::size_t i = 0; i < operands.size(); ++i) values_.push_back(tile(i, operands[i]));
        std::vector<Hash> const tiles(values_.begin(), values_.end());
        add_ops();
        Mixer kernel("kernel");
        kernel.add(static_cast<Hash>(graph_.dtype)).add_set(tiles).add_set(op_values_).add_set(output_values());
        add_schedule(kernel);
        auto outputs = output_values();
        for (auto& output : outputs) output = base::hash_combine(kernel.get(), output);
        return outputs;
    }

private:
    [[nodiscard]] Hash value(TensorId id) const { return values_[id]; }
    [[nodiscard]] std::vector<Hash> output_values() const {
        std::vector<Hash> out;
        for (auto const id : graph_.outputs) out.push_back(value(id));
        return out;
    }
    void add_schedule(Mixer& out) const {
        if (graph_.level != Level::block || sizes_ == Sizes::ignored) return;
        auto const& schedule = graph_.schedule;
        out.add_all(schedule.grid).add_whole(schedule.threads).add_whole(schedule.loop).add_all(schedule.output);
    }
    [[nodiscard]] Hash tile(std::size_t i, Hash operand) const {
        Mixer out("tile");
        out.add(operand);
        if (sizes_ == Sizes::ignored || graph_.level != Level::block) return out.get();
        auto const& partition = graph_.schedule.inputs[i];
        return out.add_all(partition.grid).add_whole(partition.loop).get();
    }
    void add_ops() {
        for (auto const& op : graph_.ops)
            for (auto const made : op.code == OpCode::graph ? kernel_outputs(op) : op_outputs(op)) {
                values_.push_back(made);
                op_values_.push_back(made);
            }
    }
    [[nodiscard]] std::vector<Hash> operands(Op const& op) const {
        std::vector<Hash> out;
        for (auto const id : op.inputs) out.push_back(value(id));
        return out;
    }
    [[nodiscard]] std::vector<Hash> kernel_outputs(Op const& op) const {
        return Hasher(graph_.bodies[static_cast<std::size_t>(op.body)], sizes_).outputs_of_kernel(operands(op));
    }
    [[nodiscard]] std::vector<Hash> op_outputs(Op const& op) const {
        std::vector<Hash> out{op_value(op)};
        for (int j = 1; j < info(op.code).outputs; ++j) out.push_back(base::hash_combine(out[0], static_cast<Hash>(j)));
        return out;
    }
    [[nodiscard]] Hash op_value(Op const& op) const {
        auto const& row = info(op.code);
        Mixer out(row.name);
        add_attributes(out, op, row);
        if (row.field.access == Access::contraction) return out.add_set(factors(op, row)).get();
        if (row.is_commutative) return out.add_set(operands(op)).get();
        return out.add_all(operands(op)).get();
    }
    /// The pairs whose products a contraction sums.
    [[nodiscard]] std::vector<Hash> factors(Op const& op, OpInfo const& row) const {
        std::vector<Hash> out;
        for (int t = 0; t < row.field.terms; ++t)
            out.push_back(base::hash_combine(value(op.inputs[static_cast<std::size_t>(t)]),
                                             value(op.inputs[static_cast<std::size_t>(t + row.field.terms)])));
        return out;
    }
    void add_attributes(Mixer& out, Op const& op, OpInfo const& row) const {
        for (auto const name : row.attributes) {
            if (name == AttributeName::size && sizes_ == Sizes::ignored) continue;
            if (name == AttributeName::axis)
                out.add_whole(*axis_of(op.attributes, tensors_[op.inputs[0]].shape));
            else if (auto const* found = op.attributes.find(name))
                add_values(out, *found);
        }
    }

    static void add_values(Mixer& out, Attribute const& attribute) {
        out.add(static_cast<Hash>(attribute.name)).add(attribute.values.size());
        for (auto const number : attribute.values) out.add(std::bit_cast<Hash>(number));
    }

    Graph const& graph_;
    Sizes sizes_;
    TensorInfos tensors_;
    base::IndexedVector<TensorId, Hash> values_; ///< of all tensors
    std::vector<Hash> op_values_;                ///< of those that ops make
};

Hash key(Graph const& graph, Sizes sizes) {
    if (graph.level == Level::thread) return Hasher(graph, sizes).whole();
    return Hasher(inline_thread_graphs(graph), sizes).whole();
}

} // namespace

std::uint64_t canonical_key(Graph const& graph) { return key(graph, Sizes::kept); }
std::uint64_t form_key(Graph const& graph) { return key(graph, Sizes::ignored); }

} // namespace espalier::program
