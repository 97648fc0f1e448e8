#include "elaborator.hpp"
#include "limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace espalier::program {

std::optional<TensorId> Elaborator::moved(std::size_t i, OpCode code, TensorIds const& in) {
    switch (info(code).field.move) {
    case Move::reshape:
        return reshape(i, in);
    case Move::slice:
        return slice(i, in);
    case Move::concat:
        return concat(i, in);
    case Move::permute:
        break;
    }
    return std::nullopt;
}

int Elaborator::axis_or_last(std::size_t i, TensorId of) const {
    return axis_of(source_.ops[i].attributes, shape(of)).value_or(shape(of).rank() - 1);
}

std::optional<TensorId> Elaborator::slice(std::size_t i, TensorIds const& in) {
    auto const axis = axis_or_last(i, in.front());
    auto const size = shape(in.front())[axis];
    auto const from = border(i, AttributeName::from, {0, {}}, size);
    auto const to = border(i, AttributeName::to,
                           {size, {{words(in.front()).rank() > axis ? words(in.front())[axis] : Word{}, 1}}}, size);
    if (!from || !to) return std::nullopt;
    if (from->value < 0 || to->value > size || from->value >= to->value) {
        problem(Part::op, i,
                "slice takes {} to {} of {} elements along `axis` {}: give `from` before `to`, both within it",
                from->value, to->value, size, axis);
        return std::nullopt;
    }
    auto attributes = source_.ops[i].attributes;
    attributes = attributes.with(AttributeName::from, from->value).with(AttributeName::to, to->value);
    SymbolicShape sizes;
    if (is_symbolic_) {
        sizes.push(words(in.front())[axis]);
        sizes.push(word_between(*from, *to));
    }
    return apply(i, OpCode::slice, in, attributes, &sizes);
}

std::optional<Elaborator::Border> Elaborator::border(std::size_t i, AttributeName name, Border const& otherwise,
                                                     std::int64_t size) {
    auto const* const given = words_of(i, name);
    if (!given) return otherwise;
    if (given->size() != 1) {
        problem(Part::op, i, "`{}` has {} values: give one", program::name(name), given->size());
        return std::nullopt;
    }
    Border out;
    for (auto const& [sign, product] : terms_of(given->front())) {
        auto const one = product == "0" ? std::optional<std::int64_t>(0) : size_of(Part::op, i, product);
        if (!one) return std::nullopt;
        out.value += sign * *one;
        if (*one != 0) out.terms.emplace_back(literal_size(product) ? literal_word(*one) : word_of(product), sign);
    }
    if (out.value < 0 && out.value >= -size) {
        out.value += size;
        out.terms.clear();
    }
    return out;
}

Word Elaborator::literal_word(std::int64_t size) const {
    auto const& names = table_.symbols().names;
    auto const name = std::to_string(size);
    return relations_.find(name) || std::ranges::count(names, name) > 0 ? word_of(name) : Word{};
}

Word Elaborator::word_between(Border const& from, Border const& to) {
    auto terms = to.terms;
    for (auto const& [word, times] : from.terms) {
        auto const same = std::ranges::find(terms, word, &std::pair<Word, int>::first);
        if (same == terms.end())
            terms.emplace_back(word, -times);
        else
            same->second -= times;
    }
    std::erase_if(terms, [](auto const& term) { return term.second == 0; });
    auto const size = to.value - from.value;
    if (terms.size() == 1 && terms[0].second == 1 && word_value(terms[0].first) == size) return terms[0].first;
    return size_word(size);
}

std::int64_t Elaborator::word_value(Word const& word) const {
    std::array<std::int64_t, Word::max_symbols> sizes;
    sizes.fill(1);
    auto const& known = table_.symbols().sizes;
    std::copy_n(known.begin(), std::min(known.size(), sizes.size()), sizes.begin());
    return word.value(sizes);
}

std::optional<TensorId> Elaborator::concat(std::size_t i, TensorIds in) {
    constexpr std::array codes{OpCode::concat, OpCode::concat3, OpCode::concat4};
    std::optional<TensorId> out = in.front();
    for (auto left = std::span(in).subspan(1); !left.empty() && out;) {
        auto const count = std::min(left.size(), codes.size());
        TensorIds some{*out};
        some.insert(some.end(), left.begin(), left.begin() + static_cast<std::ptrdiff_t>(count));
        left = left.subspan(count);
        auto const axis = axis_or_last(i, *out);
        SymbolicShape sizes;
        std::int64_t total = 0;
        for (auto const id : some) {
            if (shape(id).rank() <= axis) break;
            total += shape(id)[axis];
            if (is_symbolic_) sizes.push(words(id)[axis]);
        }
        if (is_symbolic_) sizes.push(size_word(total));
        out = apply(i, codes[count - 1], some, source_.ops[i].attributes, &sizes);
    }
    return out;
}

std::vector<std::string> const* Elaborator::words_of(std::size_t i, AttributeName name) const {
    auto const& all = source_.ops[i].words;
    auto const at = std::ranges::find(all, name, &AttributeWords::name);
    return at == all.end() ? nullptr : &at->words;
}

std::optional<TensorId> Elaborator::reshape(std::size_t i, TensorIds const& in) {
    auto const wanted = wanted_shape(i, in.front());
    if (!wanted) return std::nullopt;
    Attributes attributes;
    attributes =
        attributes.with(AttributeName::shape, std::vector<double>(wanted->numbers.begin(), wanted->numbers.end()));
    if (element_count(wanted->numbers) != element_count(shape(in.front()))) {
        problem(Part::op, i, "`shape` {} has {} elements, but {}: give sizes with that product, or one of them as -1",
                to_text(wanted->numbers), element_count(wanted->numbers), elements_text(i, in));
        return std::nullopt;
    }
    if (is_symbolic_)
        if (auto relation = relation_between({words(in.front()), shape(in.front())}, *wanted, table_)) {
            relations_.products.push_back(std::move(*relation));
            return std::nullopt;
        }
    return apply(i, OpCode::reshape, in, attributes, &wanted->words);
}

std::string Elaborator::elements_text(std::size_t i, TensorIds const& in) const {
    return fmt::format("{} has {}", shapes_text(i, in), element_count(shape(in.front())));
}

std::optional<Sized> Elaborator::wanted_shape(std::size_t i, TensorId of) {
    auto const* const dims = words_of(i, AttributeName::shape);
    if (!dims || dims->empty()) {
        problem(Part::op, i, "reshape needs `shape`: the sizes that the tensor gets, by name or number");
        return std::nullopt;
    }
    if (dims->size() > static_cast<std::size_t>(max_rank)) {
        problem(Part::op, i, "`shape` has {} dimensions, but a tensor has at most {}: merge some", dims->size(),
                max_rank);
        return std::nullopt;
    }
    Sized out;
    std::optional<int> open;
    double known = 1;
    for (auto const& dim : *dims) {
        if (literal_size(dim) == -1) {
            if (open) {
                problem(Part::op, i, "`shape` has -1 twice: give all sizes but one");
                return std::nullopt;
            }
            open = out.numbers.rank();
            out.numbers.push(1);
            out.words.push({});
            continue;
        }
        auto const size = size_of(Part::op, i, dim);
        if (!size) return std::nullopt;
        out.numbers.push(*size);
        out.words.push(word_of(dim));
        known *= static_cast<double>(*size);
    }
    if (known > max_elements) {
        problem(Part::op, i, "`shape` has too many elements to count: take smaller sizes");
        return std::nullopt;
    }
    if (open && !fill_in(i, *open, of, out)) return std::nullopt;
    return out;
}

bool Elaborator::fill_in(std::size_t i, int open, TensorId of, Sized& out) {
    auto const all = element_count(shape(of)), known = element_count(out.numbers);
    if (all % known != 0) {
        problem(Part::op, i, "`shape` leaves no whole number for -1: {} elements are not a multiple of {}", all, known);
        return false;
    }
    out.numbers[open] = all / known;
    if (!is_symbolic_ || all == known) return true;
    Word rest;
    for (auto const& word : words(of)) rest = rest * word;
    for (auto const& word : out.words) rest = rest / word;
    auto const is_product = [&] {
        for (int s = 0; s < Word::max_symbols; ++s)
            if (rest.exponent(s) < 0) return false;
        return true;
    };
    if (is_product())
        out.words[open] = rest;
    else
        out.words[open] = size_word(all / known);
    return true;
}

Word Elaborator::size_word(std::int64_t size) {
    auto const name = std::to_string(size);
    auto const& names = table_.symbols().names;
    auto const is_known = relations_.find(name) || std::ranges::count(names, name) > 0;
    if (!is_known && size > 1) relations_.sizes.push_back(size);
    return word_of(name);
}

} // namespace espalier::program
