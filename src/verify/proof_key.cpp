#include "proof_key.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace espalier::verify::proof {
namespace {

constexpr std::int64_t first_bound_name = 1'000;
constexpr std::int64_t first_outer_name = 1'000'000'000;

/// With its length in front, so that lists of keys can be read only in one way.
void append(Key& to, Key const& from) {
    to.push_back(static_cast<std::int64_t>(from.size()));
    to.insert(to.end(), from.begin(), from.end());
}

void append(Key& to, Wide number) {
    to.push_back(static_cast<std::int64_t>(number >> 64));
    to.push_back(static_cast<std::int64_t>(number));
}

void append_sorted(Key& to, std::vector<Key>& keys) {
    std::ranges::sort(keys);
    to.push_back(static_cast<std::int64_t>(keys.size()));
    for (auto const& key : keys) append(to, key);
}

using Entry = std::pair<Key, Fraction>;

/// Sorted; entries of one key are added, and dropped if that gives 0.
std::vector<Entry> add_like(std::vector<Entry> entries) {
    std::ranges::sort(entries, {}, &Entry::first);
    std::vector<Entry> out;
    for (auto& entry : entries) {
        if (!out.empty() && out.back().first == entry.first)
            out.back().second = out.back().second + entry.second;
        else
            out.push_back(std::move(entry));
    }
    std::erase_if(out, [](Entry const& entry) { return entry.second.top == 0; });
    return out;
}

} // namespace

KeyWriter::KeyWriter(Workspace& work, int free_count) : work_(work), free_count_(free_count) {
    for (int variable = 0; variable < work.variable_count(); ++variable) names_.push_back(outer_name(variable));
}

std::int64_t KeyWriter::outer_name(int variable) const {
    return variable < free_count_ ? variable : first_outer_name + variable;
}

Key KeyWriter::write(Sum const& sum) {
    std::vector<Entry> entries;
    for (auto const& term : sum.terms) entries.emplace_back(write(term), term.coefficient);
    entries = add_like(std::move(entries));
    Key out{static_cast<std::int64_t>(entries.size())};
    for (auto const& [key, coefficient] : entries) {
        append(out, coefficient.top);
        append(out, coefficient.bottom);
        append(out, key);
    }
    return out;
}

Key KeyWriter::write(Term const& term) {
    work_.spend(static_cast<std::int64_t>(1 + term.bound.size() * term.factors.size()));
    BoundOrders orders(work_, term, names_);
    auto least = write_in_order(term, orders.variables());
    while (orders.next()) least = std::min(std::move(least), write_in_order(term, orders.variables()));
    return least;
}

Key KeyWriter::write_in_order(Term const& term, std::vector<int> const& variables) {
    work_.spend();
    Key out{static_cast<std::int64_t>(variables.size())};
    for (auto const variable : variables) {
        out.push_back(work_.size(variable));
        names_[static_cast<std::size_t>(variable)] = first_bound_name + depth_++;
    }
    std::vector<Key> factors;
    for (auto const& factor : term.factors) factors.push_back(write(factor));
    append_sorted(out, factors);
    for (auto const& divisor : term.divisor) append(out, write(divisor));

    depth_ -= static_cast<std::int64_t>(variables.size());
    for (auto const variable : variables) names_[static_cast<std::size_t>(variable)] = outer_name(variable);
    return out;
}

Key KeyWriter::write(Atom const& atom) {
    work_.spend();
    Key out{static_cast<std::int64_t>(atom.kind), atom.id, static_cast<std::int64_t>(atom.index.size())};
    for (auto const& form : atom.index) append_form(out, form);
    out.push_back(static_cast<std::int64_t>(atom.attributes.size()));
    for (auto const value : atom.attributes) out.push_back(std::bit_cast<std::int64_t>(value));
    for (auto const& argument : atom.arguments) append(out, write(argument));
    return out;
}

void KeyWriter::append_form(Key& key, Form const& form) const {
    std::vector<Digit> named = form;
    for (auto& digit : named)
        if (digit.variable != constant_variable)
            digit.variable = static_cast<int>(names_[static_cast<std::size_t>(digit.variable)]);
    std::ranges::sort(named);
    key.push_back(static_cast<std::int64_t>(named.size()));
    for (auto const& digit : named) key.insert(key.end(), {digit.variable, digit.low, digit.high, digit.stride});
}

} // namespace espalier::verify::proof
