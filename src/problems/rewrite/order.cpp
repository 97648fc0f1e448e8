#include "order.hpp"

#include <map>
#include <string>

namespace espalier::problems::rewrite {

Units single_units(model::Model const& model) {
    Units out(model.nodes.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = {i};
    return out;
}

std::optional<std::vector<std::size_t>> chained(model::Model const& model, Units const& units) {
    std::map<std::string, std::size_t> maker;
    for (std::size_t unit = 0; unit < units.size(); ++unit)
        for (auto const node : units[unit])
            for (auto const& name : model.nodes[node].outputs)
                if (!name.empty()) maker[name] = unit;
    auto const operands = [&](std::size_t unit) {
        std::vector<std::size_t> out;
        for (auto const node : units[unit])
            for (auto const* const names : {&model.nodes[node].inputs, &model.nodes[node].captured})
                for (auto const& name : *names)
                    if (auto const found = maker.find(name); found != maker.end() && found->second != unit)
                        out.push_back(found->second);
        return out;
    };
    enum class Mark : std::uint8_t { none, open, done };
    std::vector<Mark> marks(units.size(), Mark::none);
    std::vector<std::size_t> order;
    struct Visit {
        std::size_t unit;
        std::vector<std::size_t> operands;
        std::size_t next = 0;
    };
    for (std::size_t start = 0; start < units.size(); ++start) {
        if (marks[start] != Mark::none) continue;
        std::vector<Visit> stack;
        stack.push_back({start, operands(start)});
        marks[start] = Mark::open;
        while (!stack.empty()) {
            auto& visit = stack.back();
            if (visit.next == visit.operands.size()) {
                marks[visit.unit] = Mark::done;
                order.push_back(visit.unit);
                stack.pop_back();
                continue;
            }
            auto const operand = visit.operands[visit.next++];
            if (marks[operand] == Mark::open) return std::nullopt;
            if (marks[operand] == Mark::done) continue;
            marks[operand] = Mark::open;
            stack.push_back({operand, operands(operand)});
        }
    }
    return order;
}

} // namespace espalier::problems::rewrite
