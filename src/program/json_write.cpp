#include "espalier/program/json.hpp"

#include <cmath>

namespace espalier::program {
namespace {

using base::Json;

Json shape_json(Shape const& shape) {
    auto out = Json::array();
    for (auto const size : shape) out.push_back(size);
    return out;
}

/// Whole numbers without a point, as far as they are exact.
Json number_json(double value) {
    constexpr double exact = 9e15;
    auto const is_whole = value == std::floor(value) && std::abs(value) < exact;
    return is_whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}
Json values_json(std::vector<double> const& values) {
    if (values.size() == 1) return number_json(values.front());
    auto out = Json::array();
    for (auto const value : values) out.push_back(number_json(value));
    return out;
}

Json input_json(Input const& input) {
    auto out = Json::object();
    if (!input.name.empty()) out["name"] = input.name;
    out["shape"] = shape_json(input.shape);
    return out;
}

Json tensors_json(TensorIds const& ids) {
    auto out = Json::array();
    for (auto const id : ids) out.push_back(id.value);
    return out;
}

Json op_json(Op const& op) {
    auto out = Json::object();
    out["op"] = info(op.code).name;
    out["in"] = tensors_json(op.inputs);
    if (!op.attributes.items().empty()) {
        auto& attributes = out["attributes"] = Json::object();
        for (auto const& item : op.attributes.items())
            attributes[std::string(name(item.name))] = values_json(item.values);
    }
    if (op.body >= 0) out["body"] = op.body;
    return out;
}

Json schedule_json(Schedule const& schedule) {
    auto out = Json::object();
    out["grid"] = schedule.grid;
    out["threads"] = schedule.threads;
    out["loop"] = schedule.loop;
    auto& inputs = out["inputs"] = Json::array();
    for (auto const& partition : schedule.inputs) {
        auto& input = inputs.emplace_back(Json{{"grid", partition.grid}, {"loop", partition.loop}});
        auto last = std::vector(partition.last.begin(), partition.last.end());
        while (!last.empty() && last.back() == 0) last.pop_back();
        if (!last.empty()) input["last"] = last;
    }
    out["output"] = schedule.output;
    return out;
}

template <class Items, class Write>
Json list_json(Items const& items, Write write) {
    auto out = Json::array();
    for (auto const& item : items) out.push_back(write(item));
    return out;
}

} // namespace

Json to_json(Graph const& graph) {
    auto out = Json::object();
    out["level"] = level_names[static_cast<std::size_t>(graph.level)];
    out["dtype"] = info(graph.dtype).name;
    if (graph.schedule != Schedule{}) out["schedule"] = schedule_json(graph.schedule);
    out["inputs"] = list_json(graph.inputs, input_json);
    out["ops"] = list_json(graph.ops, op_json);
    out["outputs"] = tensors_json(graph.outputs);
    if (!graph.bodies.empty()) out["bodies"] = list_json(graph.bodies, to_json);
    return out;
}

} // namespace espalier::program
