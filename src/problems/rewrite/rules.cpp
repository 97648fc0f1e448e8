#include "espalier/problems/rewrite/rules.hpp"

#include "rule_ops.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace espalier::problems::rewrite {
namespace {

namespace library = substitution::library;

/// Operators that stand for two: the second reads what the first makes.
struct Pair {
    std::string_view name, first, second;
};
constexpr std::array<Pair, 3> pairs{
    {{"conv3x3_relu", "conv3x3", "relu"}, {"conv1x1_relu", "conv1x1", "relu"}, {"conv1x3_relu", "conv1x3", "relu"}}};

std::vector<library::Operator> without_pairs(std::vector<library::Operator> const& operators) {
    std::vector<library::Operator> out;
    for (auto const& one : operators) {
        auto const pair = std::ranges::find(pairs, one.op, &Pair::name);
        if (pair == pairs.end()) {
            out.push_back(one);
            continue;
        }
        auto first = one, second = one;
        first.op = pair->first;
        first.outputs = {one.outputs.front() + "'"};
        second.op = pair->second;
        second.inputs = first.outputs;
        out.push_back(first);
        out.push_back(second);
    }
    return out;
}

/// Reads one side of a rule.
class SideReader {
public:
    SideReader(library::Rule const& rule, std::vector<RuleValue>& values, std::map<std::string, std::size_t>& shared)
        : rule_(rule), values_(values), shared_(shared) {}

    /// False if an operator is not known.
    [[nodiscard]] bool read(library::Graph const& graph, std::vector<Step>& steps, std::vector<std::size_t>& results) {
        for (auto const& one : without_pairs(graph.operators)) {
            auto const* const op = find_rule_op(one.op);
            if (op == nullptr) return false;
            Step step{op, {}, {}, one.attributes};
            std::vector<Made> operands;
            for (auto const& name : one.inputs) {
                step.in.push_back(value(name));
                operands.push_back({no_value, values_[step.in.back()].kind, {}});
            }
            for (auto const& name : one.outputs) {
                own_[name] = values_.size();
                step.out.push_back(values_.size());
                values_.push_back({kind_of(operands), std::nullopt, nullptr});
            }
            steps.push_back(std::move(step));
        }
        for (auto const& name : graph.outputs) results.push_back(value(name));
        return true;
    }

private:
    [[nodiscard]] std::size_t value(std::string const& name) {
        if (auto const found = own_.find(name); found != own_.end()) return found->second;
        auto const [place, is_new] = shared_.emplace(name, values_.size());
        if (!is_new) return place->second;
        auto const* const input = rule_.input(name);
        RuleValue one{input != nullptr ? input->kind : InputClass::scalar, std::nullopt, input};
        if (input == nullptr) one.number = library::number_of(name);
        values_.push_back(one);
        return place->second;
    }

    library::Rule const& rule_;
    std::vector<RuleValue>& values_;
    std::map<std::string, std::size_t>& shared_;
    std::map<std::string, std::size_t> own_;
};

/// Results first, and every step but the first one beside one that stands before it where that is possible.
void put_in_order(std::vector<Step>& steps) {
    std::ranges::reverse(steps);
    for (std::size_t i = 1; i < steps.size(); ++i) {
        auto const touches = [&](Step const& step) {
            return std::any_of(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(i), [&](Step const& before) {
                auto const is_shared = [&](std::size_t value) {
                    return std::ranges::count(before.in, value) + std::ranges::count(before.out, value) > 0;
                };
                return std::ranges::any_of(step.in, is_shared) || std::ranges::any_of(step.out, is_shared);
            });
        };
        auto const next = std::find_if(steps.begin() + static_cast<std::ptrdiff_t>(i), steps.end(), touches);
        if (next != steps.end()) std::rotate(steps.begin() + static_cast<std::ptrdiff_t>(i), next, next + 1);
    }
}

/// What is made of constants alone is a constant in a model: it cannot be looked for.
bool is_findable(Pattern const& pattern) {
    if (pattern.from.empty()) return false;
    std::vector<char> is_used(pattern.values.size(), 0);
    for (auto const& step : pattern.from) {
        if (step.op->read == nullptr) return false;
        for (auto const id : step.out)
            if (pattern.values[id].kind != InputClass::data) return false;
        for (auto const id : step.in) is_used[id] = 1;
    }
    for (auto const& step : pattern.to)
        for (auto const id : step.in)
            if (pattern.values[id].input != nullptr && is_used[id] == 0) return false;
    return std::ranges::all_of(pattern.results_to,
                               [&](auto id) { return pattern.values[id].input == nullptr || is_used[id] != 0; });
}

std::optional<Pattern> pattern_of(library::Rule const& rule, bool is_reversed) {
    Pattern out{.rule = &rule, .is_reversed = is_reversed};
    std::map<std::string, std::size_t> shared;
    SideReader from(rule, out.values, shared), to(rule, out.values, shared);
    auto const& [a, b] = is_reversed ? std::tie(rule.right, rule.left) : std::tie(rule.left, rule.right);
    if (!from.read(a, out.from, out.results_from) || !to.read(b, out.to, out.results_to)) return std::nullopt;
    if (!is_findable(out)) return std::nullopt;
    put_in_order(out.from);
    return out;
}

/// Equal but for the last bits that f16 keeps, or f32.
bool is_number(Constant const& constant, double wanted) {
    if (constant.array.reals.size() != 1) return false;
    auto const digits =
        constant.array.element == model::Element::f16 || constant.array.element == model::Element::bf16 ? 1e-3 : 1e-6;
    return std::abs(constant.array.reals.front() - wanted) <= digits * std::abs(wanted);
}

/// One number for each channel of data with channels in the second dimension; nothing if it is something else.
ConstantPtr per_channel(ConstantPtr const& constant) {
    auto const& dims = constant->array.dims;
    auto const size = model::element_count(dims);
    if (constant->array.reals.empty() || size != static_cast<std::int64_t>(constant->array.reals.size())) return {};
    auto array = constant->array;
    array.dims = {size};
    return make_constant(std::move(array));
}

class Finder {
public:
    Finder(Pattern const& pattern, Graph const& graph, Uses const& uses, std::function<void(Match const&)> const& visit)
        : pattern_(pattern), graph_(graph), uses_(uses), visit_(visit) {
        match_.values.resize(pattern.values.size());
        match_.ops.assign(pattern.from.size(), -1);
    }
    void start_at(std::int32_t op) { try_op(0, op); }

private:
    void continue_at(std::size_t step) {
        if (step == pattern_.from.size()) {
            if (are_good()) visit_(match_);
            return;
        }
        for (auto const op : candidates(pattern_.from[step])) try_op(step, op);
    }
    [[nodiscard]] std::vector<std::int32_t> candidates(Step const& step) const {
        for (auto const id : step.out)
            if (auto const bound = match_.values[id].value; bound != no_value) {
                auto const maker = uses_.maker[static_cast<std::size_t>(bound)];
                return maker < 0 ? std::vector<std::int32_t>{} : std::vector{maker};
            }
        for (auto const id : step.in)
            if (auto const bound = match_.values[id].value;
                bound != no_value && pattern_.values[id].kind == InputClass::data)
                return uses_.readers[static_cast<std::size_t>(bound)];
        std::vector<std::int32_t> all(graph_.ops.size());
        std::iota(all.begin(), all.end(), 0);
        return all;
    }
    void try_op(std::size_t step, std::int32_t op) {
        if (std::ranges::find(match_.ops, op) != match_.ops.end()) return;
        auto const& one = pattern_.from[step];
        auto const& operation = graph_.ops[static_cast<std::size_t>(op)];
        if (std::ranges::find(one.op->ops, operation.kernel->op) == one.op->ops.end()) return;
        for (auto const& reading : one.op->read(graph_, operation)) {
            if (reading.in.size() != one.in.size() || reading.out.size() != one.out.size()) continue;
            auto const before = match_.values;
            match_.ops[step] = op;
            if (bind_operands(one.in, reading.in) && bind_results(one.out, reading.out)) continue_at(step + 1);
            match_.values = before;
            match_.ops[step] = -1;
        }
    }
    [[nodiscard]] bool bind_operands(std::vector<std::size_t> const& ids, std::vector<Operand> const& operands) {
        for (std::size_t i = 0; i < ids.size(); ++i)
            if (!bind(ids[i], operands[i])) return false;
        return true;
    }
    [[nodiscard]] bool bind_results(std::vector<std::size_t> const& ids, std::vector<ValueId> const& values) {
        for (std::size_t i = 0; i < ids.size(); ++i)
            if (!bind(ids[i], {values[i], nullptr, false})) return false;
        return true;
    }
    [[nodiscard]] bool bind(std::size_t id, Operand const& operand) {
        auto const& wanted = pattern_.values[id];
        auto& bound = match_.values[id];
        if (wanted.kind == InputClass::data) {
            if (operand.value == no_value) return false;
            if (bound.value != no_value) return bound.value == operand.value;
            if (wanted.input != nullptr && !fits(*wanted.input, graph_.dims(operand.value))) return false;
            bound.value = operand.value;
            return true;
        }
        auto const constant = operand.constant ? operand.constant : graph_.value(operand.value).constant;
        if (!constant) return false;
        auto const is_number_for_all = model::element_count(constant->array.dims) == 1;
        if (wanted.kind == InputClass::channel && !operand.is_per_channel && !is_number_for_all) return false;
        if (wanted.number && !is_number(*constant, *wanted.number)) return false;
        auto const plain = in_form(wanted, constant);
        if (!plain) return false;
        if (bound.constant) return bound.constant->hash == plain->hash;
        bound = {operand.value, plain};
        return true;
    }
    [[nodiscard]] static ConstantPtr in_form(RuleValue const& wanted, ConstantPtr const& constant) {
        if (wanted.kind == InputClass::weights) return constant->array.dims.size() >= 3 ? constant : nullptr;
        auto plain = per_channel(constant);
        if (!plain || wanted.kind == InputClass::channel) return plain;
        if (plain->array.reals.size() != 1) return nullptr;
        auto array = plain->array;
        array.dims.clear();
        return make_constant(std::move(array));
    }
    [[nodiscard]] static bool fits(library::Input const& input, model::Dims const& dims) {
        return !input.rank || *input.rank == static_cast<int>(dims.size());
    }
    /// Equal sizes, kernels and signs: what a rule asks of its inputs.
    [[nodiscard]] bool are_good() const {
        std::map<std::string, std::int64_t> sizes;
        for (std::size_t i = 0; i < pattern_.values.size(); ++i) {
            auto const* const input = pattern_.values[i].input;
            auto const& bound = match_.values[i];
            if (input == nullptr || (bound.value == no_value && !bound.constant)) continue;
            auto const& dims = bound.constant ? bound.constant->array.dims : graph_.dims(bound.value);
            if (!input->dims.empty() && input->dims.size() != dims.size()) return false;
            for (std::size_t d = 0; d < input->dims.size(); ++d)
                if (size_of(input->dims[d], dims[d], sizes) != dims[d]) return false;
        }
        return std::ranges::all_of(pattern_.rule->parameters,
                                   [&](auto const& condition) { return has_sign(condition); });
    }
    /// `3`, or the name of a size, which is the same everywhere.
    [[nodiscard]] static std::int64_t size_of(std::string const& word, std::int64_t here,
                                              std::map<std::string, std::int64_t>& sizes) {
        auto const number = library::number_of(word);
        return number ? static_cast<std::int64_t>(*number) : sizes.emplace(word, here).first->second;
    }
    [[nodiscard]] bool has_sign(library::SignCondition const& condition) const {
        for (std::size_t i = 0; i < pattern_.values.size(); ++i) {
            auto const* const input = pattern_.values[i].input;
            if (input == nullptr || input->name != condition.of) continue;
            auto const& constant = match_.values[i].constant;
            return constant && std::ranges::all_of(constant->array.reals, [&](double x) {
                       return condition.is == library::Sign::positive ? x > 0 : x < 0;
                   });
        }
        return false;
    }

    Pattern const& pattern_;
    Graph const& graph_;
    Uses const& uses_;
    std::function<void(Match const&)> const& visit_;
    Match match_;
};

/// Makes the other side of a rule.
class Maker {
public:
    Maker(Pattern const& pattern, Match const& match, Graph& graph, Folder& folder)
        : pattern_(pattern), match_(match), builder_(graph, folder), made_(pattern.values.size()) {
        for (std::size_t i = 0; i < pattern.from.size(); ++i) {
            auto const& op = graph.ops[static_cast<std::size_t>(match.ops[i])];
            if (op.kernel->op != "Conv") continue;
            ++convolutions_;
            convolution_ = op;
        }
        if (convolutions_ == 1) replaced_.convolution = &*convolution_; // of several, no one knows which
    }
    [[nodiscard]] bool make() {
        for (std::size_t i = 0; i < pattern_.values.size(); ++i) start(i);
        for (auto const& step : pattern_.to) {
            std::vector<Made> in;
            for (auto const id : step.in) {
                if (made_[id].value == no_value) return false;
                in.push_back(made_[id]);
            }
            auto out = step.op->write({builder_, in, step.attributes, replaced_});
            if (!out || out->size() != step.out.size()) return false;
            for (std::size_t i = 0; i < step.out.size(); ++i) made_[step.out[i]] = (*out)[i];
        }
        return true;
    }
    [[nodiscard]] ValueId value(std::size_t id) const { return made_[id].value; }

private:
    void start(std::size_t i) {
        auto const& wanted = pattern_.values[i];
        auto const& bound = match_.values[i];
        if (wanted.kind == InputClass::data) {
            if (wanted.input != nullptr) made_[i] = {bound.value, wanted.kind, {}};
            return;
        }
        if (wanted.input != nullptr) {
            if (bound.constant) made_[i] = {builder_.constant(bound.constant), wanted.kind, {}};
        } else if (wanted.number) {
            made_[i] = {builder_.number(*wanted.number, first_data()), wanted.kind, {}};
        }
    }
    [[nodiscard]] ValueId first_data() const {
        for (std::size_t i = 0; i < pattern_.values.size(); ++i)
            if (pattern_.values[i].kind == InputClass::data && match_.values[i].value != no_value)
                return match_.values[i].value;
        return 0;
    }

    Pattern const& pattern_;
    Match const& match_;
    Builder builder_;
    std::vector<Made> made_;
    std::optional<Operation> convolution_; ///< a copy: the graph's ops move
    std::size_t convolutions_ = 0;
    Replaced replaced_;
};

} // namespace

Rules::Rules(library::Library library, Options options) : library_(std::move(library)) {
    for (auto const& rule : library_.rules) {
        bool is_used = false;
        for (bool const is_reversed : {false, true}) {
            if (!rule.is_proved() && !options.unproved) continue;
            auto pattern = pattern_of(rule, is_reversed);
            if (!pattern) continue;
            is_used = true;
            for (auto const op : pattern->from.front().op->ops) by_op_[std::string(op)].push_back(patterns_.size());
            patterns_.push_back(std::move(*pattern));
        }
        if (!is_used) ++left_out_;
    }
}

std::vector<std::size_t> const& Rules::of_op(std::string const& op) const {
    static std::vector<std::size_t> const none;
    auto const found = by_op_.find(op);
    return found == by_op_.end() ? none : found->second;
}

void find(Pattern const& pattern, Graph const& graph, Uses const& uses, std::int32_t first,
          std::function<void(Match const&)> const& visit) {
    Finder(pattern, graph, uses, visit).start_at(first);
}

std::optional<Graph> applied(Pattern const& pattern, Match const& match, Graph const& graph, Folder& folder) {
    auto out = graph;
    Maker maker(pattern, match, out, folder);
    if (!maker.make()) return std::nullopt;
    for (std::size_t i = 0; i < pattern.results_from.size(); ++i) {
        auto const before = match.values[pattern.results_from[i]].value;
        auto const after = maker.value(pattern.results_to[i]);
        if (before == no_value || after == no_value || out.value(before).type != out.value(after).type)
            return std::nullopt;
        for (auto& op : out.ops)
            for (auto& id : op.in)
                if (id == before) id = after;
        for (auto& id : out.outputs)
            if (id == before) id = after;
    }
    return tidied(std::move(out));
}

} // namespace espalier::problems::rewrite
