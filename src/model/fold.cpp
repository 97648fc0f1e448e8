#include "espalier/model/fold.hpp"

#include "espalier/base/error.hpp"
#include "espalier/model/evaluate.hpp"

#include <algorithm>
#include <optional>

namespace espalier::model {
namespace {

/// Nothing if there is no such size.
std::optional<std::uint64_t> bytes_of(Known const& known) {
    auto bytes = static_cast<std::uint64_t>(info(known.element).size_bytes);
    for (auto const size : known.dims)
        if (size < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) return std::nullopt;
    return bytes;
}

bool is_number(Element element) {
    return element != Element::none && element != Element::text && element != Element::c64 && element != Element::c128;
}

/// Replaces node after node, and knows at every moment how much there is.
class Folding {
public:
    Folding(Model const& model, FoldLimits const& limits, base::StopToken const& stop)
        : model_(model), limits_(limits), stop_(stop) {
        for (auto const& output : model.outputs) outputs_.insert(output.name), ++readers_[output.name];
        for (auto const& node : model.nodes) {
            for (auto const& name : node.inputs) ++readers_[name];
            for (auto const& name : node.captured) ++readers_[name];
        }
    }

    Model run() {
        std::vector<Node> kept;
        for (auto& node : model_.nodes) {
            stop_.check();
            if (!try_fold(node)) kept.push_back(std::move(node));
        }
        model_.nodes = std::move(kept);
        return std::move(model_);
    }

private:
    bool try_fold(Node const& node) {
        auto const is_constant = [&](std::string const& name) {
            return name.empty() || model_.constant(name) != nullptr;
        };
        auto const is_output = [&](std::string const& name) { return outputs_.contains(name); };
        if (!node.captured.empty() || std::any_of(node.outputs.begin(), node.outputs.end(), is_output) ||
            !std::all_of(node.inputs.begin(), node.inputs.end(), is_constant))
            return false;
        auto const alone = model_of(node);
        auto const made = made_by(node, alone);
        if (!made) return false;
        replace(node, *made);
        return true;
    }

    /// The node with its constants.
    [[nodiscard]] Model model_of(Node const& node) const {
        Model alone{.nodes = {node}, .opsets = model_.opsets};
        for (auto const& name : node.inputs)
            if (!name.empty()) alone.constants.emplace(name, model_.constants.at(name));
        for (auto const& name : node.outputs)
            if (!name.empty()) alone.outputs.push_back({.name = name});
        return alone;
    }

    [[nodiscard]] std::optional<std::map<std::string, TensorPtr>> made_by(Node const& node, Model const& alone) const {
        try {
            auto const facts = infer(alone);
            if (not_understood(node, alone, facts) || !is_allowed(node, alone, facts)) return std::nullopt;
            std::map<std::string, TensorPtr> made;
            for (auto const& [name, array] : evaluate(alone, {}, stop_))
                made.emplace(name, std::make_shared<Tensor const>(to_tensor(array)));
            return made;
        } catch (base::InputError const&) {
            return std::nullopt; // it fails when it runs, and then says why
        }
    }

    [[nodiscard]] bool is_allowed(Node const& node, Model const& alone, Facts const& facts) const {
        constexpr auto most = std::uint64_t{1} << 60;
        auto budget = static_cast<std::int64_t>(std::min(limits_.growth_bytes, most)) - growth_ + freed_by(node);
        for (auto const& output : alone.outputs) {
            auto const known = facts.types.find(output.name);
            if (known == facts.types.end() || !is_number(known->second.element)) return false;
            auto const bytes = bytes_of(known->second);
            if (!bytes || budget < 0 || *bytes > static_cast<std::uint64_t>(budget)) return false;
            budget -= static_cast<std::int64_t>(*bytes);
        }
        auto const work = work_of(node, alone, facts);
        return work && work->flops <= limits_.flops;
    }

    /// What only this node reads is not written any more.
    [[nodiscard]] std::int64_t freed_by(Node const& node) const {
        std::int64_t bytes = 0;
        for (auto const& name : std::set<std::string>(node.inputs.begin(), node.inputs.end()))
            if (auto const* tensor = model_.constant(name); tensor != nullptr && is_last_reader(node, name))
                bytes += static_cast<std::int64_t>(tensor->bytes.size());
        return bytes;
    }
    [[nodiscard]] bool is_last_reader(Node const& node, std::string const& name) const {
        return readers_.at(name) == std::count(node.inputs.begin(), node.inputs.end(), name);
    }

    void replace(Node const& node, std::map<std::string, TensorPtr> const& made) {
        growth_ -= freed_by(node);
        for (auto const& name : std::set<std::string>(node.inputs.begin(), node.inputs.end())) {
            if (made_here_.contains(name) && is_last_reader(node, name)) model_.constants.erase(name);
            readers_[name] -= std::count(node.inputs.begin(), node.inputs.end(), name);
        }
        for (auto const& [name, tensor] : made) {
            if (readers_[name] == 0) continue;
            growth_ += static_cast<std::int64_t>(tensor->bytes.size());
            model_.constants.emplace(name, tensor);
            made_here_.insert(name);
        }
    }

    Model model_;
    FoldLimits limits_;
    base::StopToken const& stop_;
    std::set<std::string> outputs_;
    std::set<std::string> made_here_;               ///< constants that the model did not have
    std::map<std::string, std::ptrdiff_t> readers_; ///< that are still there
    std::int64_t growth_ = 0;
};

} // namespace

Model fold(Model const& model, FoldLimits const& limits, base::StopToken const& stop) {
    return Folding(model, limits, stop).run();
}

} // namespace espalier::model
