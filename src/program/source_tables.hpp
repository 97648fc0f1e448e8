#pragma once

#include "elaborate.hpp"
#include "limits.hpp"
#include "source_symbols.hpp"
#include "source_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

namespace espalier::program {

/// The dimensions and tensors of a source that is elaborated, and what is wrong with it so far. What is wrong makes a
/// tensor unknown, and unknown tensors give no further messages.
class SourceTables {
public:
    SourceTables(Source const& source, Relations& relations)
        : source_(source), relations_(relations), table_(source, relations) {
        out_.symbols = table_.symbols();
    }

protected:
    using Part = SourceProblem::Part;

    /// A tensor that has a name; without an id it is known to exist, and no more.
    struct Tensor {
        std::optional<TensorId> id;
        Part part;
        std::size_t index;
        bool is_read = false;
        bool is_output = false;
        std::optional<TensorId> transposed = std::nullopt; ///< of which it is the transpose, made where it is needed
    };

    template <class... Args>
    void problem(Part part, std::size_t index, fmt::format_string<Args...> format, Args&&... args) {
        out_.problems.push_back({part, index, fmt::format(format, std::forward<Args>(args)...)});
    }

    // --- dimensions

    void add_dim(std::size_t i) {
        auto const& [name, size] = source_.dims[i];
        if (!is_name(name)) problem(Part::dim, i, "'{}' is not a name: letters, digits and _, a letter first", name);
        if (dims_.contains(name)) return problem(Part::dim, i, "{} is declared twice: remove one", name);
        auto& known = dims_[name];
        if (size >= 1 && size <= max_dim)
            known = size;
        else
            problem(Part::dim, i, "{} has size {}: give a whole number from 1 to {}", name, size, max_dim);
    }
    void check_symbols() {
        auto const& names = table_.symbols().names;
        is_symbolic_ = names.size() <= static_cast<std::size_t>(Word::max_symbols);
        if (names.size() <= max_source_symbols) return;
        problem(Part::whole, 0,
                "{} different dimensions ({}), but at most {} of size over 1 are supported: use one name for those "
                "that are the same, or set some to 1",
                names.size(), fmt::join(names, ", "), max_source_symbols);
    }
    /// Of a name, a number or a product of them.
    [[nodiscard]] Word word_of(std::string const& product) const {
        Word out;
        if (!is_symbolic_) return out;
        for (auto const& factor : factors_of(product)) out = out * table_.word_of(factor);
        return out;
    }
    std::optional<std::int64_t> size_of(Part part, std::size_t i, std::string const& product) {
        std::int64_t out = 1;
        for (auto const& factor : factors_of(product)) {
            auto const size = size_of_factor(part, i, factor);
            if (!size) return std::nullopt;
            out *= *size;
            if (out <= max_dim) continue;
            problem(part, i, "a dimension of size {}: give a whole number from 1 to {}", product, max_dim);
            return std::nullopt;
        }
        return out;
    }
    std::optional<std::int64_t> size_of_factor(Part part, std::size_t i, std::string const& dim) {
        if (auto const literal = literal_size(dim)) {
            if (*literal >= 1 && *literal <= max_dim) return literal;
            problem(part, i, "a dimension of size {}: give a whole number from 1 to {}", dim, max_dim);
            return std::nullopt;
        }
        if (auto const found = dims_.find(dim); found != dims_.end()) return found->second;
        problem(part, i, "there is no dimension '{}': {}", dim, did_you_mean(dim, dim_names()));
        return std::nullopt;
    }
    [[nodiscard]] std::vector<std::string> dim_names() const {
        std::vector<std::string> names;
        for (auto const& dim : source_.dims) names.push_back(dim.name);
        return names;
    }

    // --- tensors

    TensorId push(Shape const& shape, SymbolicShape const& words) {
        shapes_.push_back(shape);
        return out_.shapes.push_back(words);
    }
    [[nodiscard]] Shape const& shape(TensorId id) const { return shapes_[id]; }
    [[nodiscard]] SymbolicShape const& words(TensorId id) const { return out_.shapes[id]; }

    void define(std::string const& name, Part part, std::size_t i, std::optional<TensorId> id) {
        if (!is_name(name)) problem(part, i, "'{}' is not a name: letters, digits and _, a letter first", name);
        if (!tensors_.emplace(name, Tensor{id, part, i}).second)
            problem(part, i, "tensor {} is defined twice: give one of them another name", name);
    }
    void add_input(std::size_t i) {
        auto const& input = source_.inputs[i];
        define(input.name, Part::input, i, shape_of_input(i));
    }
    std::optional<TensorId> shape_of_input(std::size_t i) {
        auto const& dims = source_.inputs[i].dims;
        if (dims.size() > static_cast<std::size_t>(max_rank)) {
            problem(Part::input, i, "{} dimensions, but a tensor has at most {}", dims.size(), max_rank);
            return std::nullopt;
        }
        Shape sizes;
        SymbolicShape names;
        if (dims.empty()) { // a scalar
            sizes.push(1);
            names.push({});
        }
        for (auto const& dim : dims)
            if (auto const size = size_of(Part::input, i, dim)) {
                sizes.push(*size);
                names.push(word_of(dim));
            }
        if (sizes.rank() < static_cast<int>(dims.size()) || !is_of_bearable_size(Part::input, i, sizes))
            return std::nullopt;
        out_.graph.inputs.push_back({source_.inputs[i].name, sizes});
        return push(sizes, names);
    }
    bool is_of_bearable_size(Part part, std::size_t i, Shape const& sizes) {
        if (estimate_elements(sizes) <= max_elements) return true;
        problem(part, i, "a tensor {} has too many elements to count: take smaller sizes", to_text(sizes));
        return false;
    }

    Source const& source_;
    Relations& relations_; ///< what is found goes there, for another attempt
    SymbolTable table_;
    bool is_symbolic_ = true;                                 ///< else there are too many symbols
    std::map<std::string, std::optional<std::int64_t>> dims_; ///< nothing: declared with a size that cannot be
    std::map<std::string, Tensor> tensors_;
    base::IndexedVector<TensorId, Shape> shapes_;
    Elaboration out_;
};

} // namespace espalier::program
