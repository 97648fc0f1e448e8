#include "espalier/base/error.hpp"
#include "espalier/program/json.hpp"
#include "limits.hpp"
#include "suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>

namespace espalier::program {
namespace {

using base::Json;

/// Everything that is wrong with a document.
using Problems = std::vector<std::string>;

/// A value and where it stands.
class Node {
public:
    Node(Json const& value, std::string path, Problems& problems)
        : value_(&value), path_(std::move(path)), problems_(&problems) {}

    template <class... Args>
    void fail(fmt::format_string<Args...> format, Args&&... args) const {
        auto const where = path_.empty() ? "program" : path_;
        problems_->push_back(where + ": " + fmt::format(format, std::forward<Args>(args)...));
    }
    [[nodiscard]] bool has(std::string const& key) const { return value_->contains(key); }
    /// Calls `read` with a member, if there is one.
    template <class Read>
    void with(std::string const& key, Read read) const {
        if (value_->is_object() && has(key))
            read(Node((*value_)[key], path_.empty() ? key : path_ + "." + key, *problems_));
    }
    /// The same, and it must be there.
    template <class Read>
    void with_required(std::string const& key, Read read) const {
        if (value_->is_object() && !has(key)) fail("`{}` is missing: add it", key);
        with(key, read);
    }
    /// Says whether it is an object, and which keys it should not have.
    bool expect_object(std::vector<std::string> const& known) const {
        if (!value_->is_object()) {
            fail("expected an object");
            return false;
        }
        for (auto const& [key, member] : value_->items())
            if (std::ranges::find(known, key) == known.end())
                fail("there is no key `{}`: {}", key, did_you_mean(key, known));
        return true;
    }
    template <class Read>
    void each(Read read) const {
        if (!value_->is_array()) return fail("expected a list");
        for (std::size_t i = 0; i < value_->size(); ++i)
            read(Node((*value_)[i], fmt::format("{}[{}]", path_, i), *problems_));
    }
    template <class Read>
    void each_member(Read read) const {
        if (!value_->is_object()) return fail("expected an object");
        for (auto const& [key, member] : value_->items()) read(key, Node(member, path_ + "." + key, *problems_));
    }
    [[nodiscard]] std::string text() const {
        if (value_->is_string()) return value_->get<std::string>();
        fail("expected text");
        return "";
    }
    [[nodiscard]] std::int64_t whole() const {
        if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > std::uint64_t{1} << 62)
            fail("a number that large is not supported");
        else if (value_->is_number_integer())
            return value_->get<std::int64_t>();
        else
            fail("expected a whole number");
        return 0;
    }
    [[nodiscard]] int index() const {
        auto const value = whole();
        if (value >= -1 && value <= max_index) return static_cast<int>(value);
        fail("{} is not an index: give a number from -1 to {}", value, max_index);
        return -1;
    }
    [[nodiscard]] double number() const {
        if (value_->is_number()) return value_->get<double>();
        fail("expected a number");
        return 0;
    }
    [[nodiscard]] bool is_list() const { return value_->is_array(); }

private:
    static constexpr std::int64_t max_index = 1'000'000;

    Json const* value_;
    std::string path_;
    Problems* problems_;
};

Shape read_shape(Node const& node) {
    Shape out;
    int rank = 0;
    node.each([&](Node const& size) {
        if (++rank <= max_rank) out.push(size.whole());
    });
    if (rank > max_rank) node.fail("{} dimensions: at most {} are supported", rank, max_rank);
    return out;
}

Input read_input(Node const& node) {
    Input out;
    if (!node.expect_object({"name", "shape"})) return out;
    node.with("name", [&](Node const& name) { out.name = name.text(); });
    node.with_required("shape", [&](Node const& shape) { out.shape = read_shape(shape); });
    return out;
}

TensorIds read_tensors(Node const& node) {
    TensorIds out;
    node.each([&](Node const& index) { out.emplace_back(index.index()); });
    return out;
}

/// A list of three.
template <class Number, class Read>
void read_axes(Node const& node, std::array<Number, 3>& out, Read read) {
    std::size_t count = 0;
    node.each([&](Node const& axis) {
        if (count++ < 3) out[count - 1] = read(axis);
    });
    if (node.is_list() && count != 3) node.fail("{} numbers: give one for each of x, y and z", count);
}
void read_dims(Node const& node, std::array<int, 3>& out) {
    read_axes(node, out, [](Node const& axis) { return axis.index(); });
}

/// A size for each dimension, 0 where all tiles are of one size.
void read_last(Node const& node, std::array<std::int64_t, max_rank>& out) {
    std::size_t count = 0;
    node.each([&](Node const& size) {
        if (count++ < out.size()) out[count - 1] = size.whole();
    });
    if (count > out.size()) node.fail("{} numbers: give one for each dimension", count);
}

Partition read_partition(Node const& node) {
    Partition out;
    if (!node.expect_object({"grid", "loop", "last"})) return out;
    node.with("grid", [&](Node const& grid) { read_dims(grid, out.grid); });
    node.with("loop", [&](Node const& loop) { out.loop = loop.index(); });
    node.with("last", [&](Node const& last) { read_last(last, out.last); });
    return out;
}

Schedule read_schedule(Node const& node) {
    Schedule out;
    if (!node.expect_object({"grid", "threads", "loop", "inputs", "output"})) return out;
    node.with("grid",
              [&](Node const& grid) { read_axes(grid, out.grid, [](Node const& axis) { return axis.whole(); }); });
    node.with("threads", [&](Node const& threads) { out.threads = threads.whole(); });
    node.with("loop", [&](Node const& loop) { out.loop = loop.whole(); });
    node.with("inputs", [&](Node const& inputs) {
        inputs.each([&](Node const& input) { out.inputs.push_back(read_partition(input)); });
    });
    node.with("output", [&](Node const& output) { read_dims(output, out.output); });
    return out;
}

void read_attribute(std::string const& key, Node const& node, OpInfo const& row, Attributes& out) {
    std::vector<double> values;
    if (node.is_list())
        node.each([&](Node const& value) { values.push_back(value.number()); });
    else
        values = {node.number()};
    auto const name = find_attribute(key);
    auto const problem =
        name ? problem_of(row, {*name, values}) : fmt::format("{} has no attribute `{}`: remove it", row.name, key);
    if (problem) return node.fail("{}", *problem);
    out = out.with(*name, std::move(values));
}

OpCode read_code(Node const& node) {
    auto const name = node.text();
    auto const found = std::ranges::find(op_table(), name, &OpInfo::name);
    if (found != op_table().end()) return found->code;
    std::vector<std::string> names;
    for (auto const& row : op_table()) names.emplace_back(row.name);
    node.fail("there is no op '{}': {}", name, did_you_mean(name, names));
    return {};
}

Op read_op(Node const& node) {
    Op out;
    if (!node.expect_object({"op", "in", "attributes", "body"})) return out;
    node.with_required("op", [&](Node const& code) { out.code = read_code(code); });
    node.with_required("in", [&](Node const& in) { out.inputs = read_tensors(in); });
    node.with("attributes", [&](Node const& attributes) {
        attributes.each_member([&](std::string const& key, Node const& value) {
            read_attribute(key, value, info(out.code), out.attributes);
        });
    });
    node.with("body", [&](Node const& body) { out.body = body.index(); });
    return out;
}

Level read_level(Node const& node) {
    auto const name = node.text();
    auto const found = std::ranges::find(level_names, name);
    if (found != level_names.end()) return static_cast<Level>(found - level_names.begin());
    node.fail("there is no level '{}': known are kernel, block and thread", name);
    return Level::kernel;
}

DType read_dtype(Node const& node) {
    auto const name = node.text();
    auto const found = find_dtype(name);
    if (!found) node.fail("there is no type '{}': known are f16, bf16, f32 and f64", name);
    return found.value_or(DType::f16);
}

/// Levels are three: a document that nests deeper is not followed.
Graph read_graph(Node const& node, Level level) {
    Graph out;
    if (!node.expect_object({"level", "dtype", "schedule", "inputs", "ops", "outputs", "bodies"})) return out;
    node.with("level", [&](Node const& given) { out.level = read_level(given); });
    if (out.level != level)
        node.fail("this is a {} graph: make it a {} graph", level_names[static_cast<std::size_t>(out.level)],
                  level_names[static_cast<std::size_t>(level)]);
    node.with_required("dtype", [&](Node const& dtype) { out.dtype = read_dtype(dtype); });
    node.with("schedule", [&](Node const& schedule) { out.schedule = read_schedule(schedule); });
    node.with_required("inputs", [&](Node const& inputs) {
        inputs.each([&](Node const& input) { out.inputs.push_back(read_input(input)); });
    });
    node.with_required("ops",
                       [&](Node const& ops) { ops.each([&](Node const& op) { out.ops.push_back(read_op(op)); }); });
    node.with_required("outputs", [&](Node const& outputs) { out.outputs = read_tensors(outputs); });
    node.with("bodies", [&](Node const& bodies) {
        if (level == Level::thread) return bodies.fail("a thread graph holds no other graphs: remove them");
        bodies.each([&](Node const& body) {
            out.bodies.push_back(read_graph(body, static_cast<Level>(static_cast<int>(level) + 1)));
        });
    });
    return out;
}

} // namespace

Graph from_json(Json const& json) {
    Problems problems;
    Node const whole(json, "", problems);
    auto out = read_graph(whole, Level::kernel);
    try {
        if (problems.empty()) (void)infer_within_limits(out);
    } catch (base::InputError const& error) {
        whole.fail("{}", error.what());
    }
    if (!problems.empty()) throw base::InputError(fmt::format("{}", fmt::join(problems, "\n")));
    return out;
}

} // namespace espalier::program
