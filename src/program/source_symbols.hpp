#pragma once

#include "espalier/program/source.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

/// Which dimensions of a source are symbols, and which are products of others.
namespace espalier::program {

/// A dimension, by name or as a number, that is a product of others.
struct Relation {
    std::string name;
    std::vector<std::string> factors;
};
/// What the ops of a source say about its dimensions. It is found while the source is elaborated, one thing at a time.
struct Relations {
    std::vector<Relation> products;
    std::vector<std::int64_t> sizes; ///< that no name stands for

    [[nodiscard]] Relation const* find(std::string_view name) const;
    [[nodiscard]] std::size_t size() const { return products.size() + sizes.size(); }
};

/// The factors of `H*D`; without blanks around them.
[[nodiscard]] std::vector<std::string> factors_of(std::string_view product);

/// The terms of `H*D + 2*E - 1`, each with its sign.
[[nodiscard]] std::vector<std::pair<int, std::string>> terms_of(std::string_view sum);

class SymbolTable {
public:
    /// `literals`: sizes that are written as numbers.
    SymbolTable(Source const& source, Relations const& relations);

    [[nodiscard]] Symbols const& symbols() const { return symbols_; }
    /// Of a name or a number; the unit word of what is no symbol, also because there are too many.
    [[nodiscard]] Word word_of(std::string const& factor) const;
    /// The symbols of a word, each as often as it occurs. Words of a source have no negative exponents.
    [[nodiscard]] std::vector<std::string> factors_of(Word const& word) const;
    /// The symbol that a word is, if it is nothing else.
    [[nodiscard]] std::optional<std::string> only_symbol(Word const& word) const;
    [[nodiscard]] std::string text(Word const& word) const;

private:
    void add(std::string const& name, std::int64_t size);
    void add_words(std::string const& product);

    Relations const& relations_;
    Symbols symbols_;
};

/// One side of a reshape.
struct Sized {
    SymbolicShape words;
    Shape numbers;
};
/// What must hold of the dimensions so that one shape has the elements of another, in their order, whatever the sizes:
/// nothing if it does already or if nothing makes it so.
[[nodiscard]] std::optional<Relation> relation_between(Sized const& a, Sized const& b, SymbolTable const& table);

} // namespace espalier::program
