#include "source_symbols.hpp"

#include "elaborate.hpp"
#include "limits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace espalier::program {
namespace {

bool is_literal(std::string const& name) { return literal_size(name).has_value(); }

/// a / b, if it is a product.
std::optional<Word> quotient(Word const& a, Word const& b) {
    auto const out = a / b;
    for (int i = 0; i < Word::max_symbols; ++i)
        if (out.exponent(i) < 0) return std::nullopt;
    return out;
}

/// Goes through two shapes from the front until a dimension of one is several of the other, or has another symbol.
class Matcher {
public:
    Matcher(Sized const& a, Sized const& b, SymbolTable const& symbols) : table_(symbols), a_(list(a)), b_(list(b)) {}

    std::optional<Relation> run() {
        while (!a_.empty() && !b_.empty()) {
            auto const [x, m] = a_.front();
            auto const [y, n] = b_.front();
            if (x == y) {
                drop(a_), drop(b_);
                continue;
            }
            if (m == n) return same(x, y);
            auto const is_less = m < n;
            auto& parts = is_less ? a_ : b_;
            auto& wholes = is_less ? b_ : a_;
            if (auto const rest = quotient(wholes.front().word, parts.front().word);
                rest && wholes.front().number % parts.front().number == 0) {
                wholes.front() = {*rest, wholes.front().number / parts.front().number};
                drop(parts);
                continue;
            }
            return product(wholes.front(), parts);
        }
        return std::nullopt;
    }

private:
    struct Dim {
        Word word;
        std::int64_t number = 1;
    };
    using Dims = std::vector<Dim>;

    static Dims list(Sized const& shape) {
        Dims out;
        for (int i = 0; i < shape.numbers.rank(); ++i)
            if (shape.numbers[i] != 1) out.push_back({shape.words[i], shape.numbers[i]});
        return out;
    }
    static void drop(Dims& dims) { dims.erase(dims.begin()); }
    /// A number gives way to a name.
    [[nodiscard]] std::optional<Relation> same(Word const& x, Word const& y) const {
        auto const first = table_.only_symbol(x), second = table_.only_symbol(y);
        if (second && (!first || is_literal(*second))) return Relation{*second, table_.factors_of(x)};
        if (first) return Relation{*first, table_.factors_of(y)};
        return std::nullopt;
    }
    /// As many of the parts as make up the whole.
    [[nodiscard]] std::optional<Relation> product(Dim const& whole, Dims const& parts) const {
        auto const name = table_.only_symbol(whole.word);
        std::vector<std::string> factors;
        auto left = whole.number;
        for (auto const& part : parts) {
            if (left == 1) break;
            if (left % part.number != 0) {
                if (part.number % left != 0) return std::nullopt;
                factors.push_back(std::to_string(left)); // and that is a factor of the part
                left = 1;
                break;
            }
            for (auto const& factor : table_.factors_of(part.word)) factors.push_back(factor);
            left /= part.number;
        }
        if (!name || left != 1 || std::ranges::count(factors, *name)) return std::nullopt;
        return Relation{*name, factors};
    }

    SymbolTable const& table_;
    Dims a_, b_;
};

} // namespace

Relation const* Relations::find(std::string_view name) const {
    auto const at = std::ranges::find(products, name, &Relation::name);
    return at == products.end() ? nullptr : &*at;
}

std::vector<std::string> factors_of(std::string_view product) {
    std::vector<std::string> out(1);
    for (auto const c : product)
        if (c == '*')
            out.emplace_back();
        else if (std::isspace(static_cast<unsigned char>(c)) == 0)
            out.back() += c;
    return out;
}

std::vector<std::pair<int, std::string>> terms_of(std::string_view sum) {
    std::vector<std::pair<int, std::string>> out;
    int sign = 1;
    std::string term;
    auto const close = [&] {
        if (!term.empty()) out.emplace_back(sign, std::exchange(term, {}));
    };
    for (auto const c : sum)
        if (c == '+' || c == '-') {
            close();
            sign = c == '+' ? 1 : -1;
        } else if (std::isspace(static_cast<unsigned char>(c)) == 0)
            term += c;
    close();
    return out;
}

SymbolTable::SymbolTable(Source const& source, Relations const& relations) : relations_(relations) {
    for (auto const& dim : source.dims) add(dim.name, dim.size);
    for (auto const& input : source.inputs)
        for (auto const& dim : input.dims) add_words(dim);
    for (auto const& op : source.ops) {
        auto const size = op.attributes.get(AttributeName::size, 1);
        if (size > 1 && size <= static_cast<double>(max_dim))
            add(std::to_string(static_cast<std::int64_t>(size)), static_cast<std::int64_t>(size));
        for (auto const& attribute : op.words)
            for (auto const& word : attribute.words)
                if (attribute.name == AttributeName::shape) add_words(word);
    }
    for (auto const size : relations.sizes) add(std::to_string(size), size);
    for (auto const& relation : relations.products)
        for (auto const& factor : relation.factors) add_words(factor);
}

/// The numbers in it.
void SymbolTable::add_words(std::string const& product) {
    for (auto const& factor : program::factors_of(product))
        if (auto const size = literal_size(factor); size && *size >= 1) add(std::to_string(*size), *size);
}

void SymbolTable::add(std::string const& name, std::int64_t size) {
    if (size == 1 || relations_.find(name) || std::ranges::find(symbols_.names, name) != symbols_.names.end()) return;
    symbols_.names.push_back(name);
    symbols_.sizes.push_back(size);
}

Word SymbolTable::word_of(std::string const& factor) const {
    auto const literal = literal_size(factor);
    auto const name = literal ? std::to_string(*literal) : factor;
    if (auto const* const relation = relations_.find(name)) {
        Word out;
        for (auto const& one : relation->factors) out = out * word_of(one);
        return out;
    }
    auto const at = std::ranges::find(symbols_.names, name) - symbols_.names.begin();
    return at < std::min<std::ptrdiff_t>(std::ssize(symbols_.names), Word::max_symbols)
               ? Word::symbol(static_cast<int>(at))
               : Word{};
}

std::vector<std::string> SymbolTable::factors_of(Word const& word) const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < symbols_.names.size() && i < Word::max_symbols; ++i)
        for (int n = word.exponent(static_cast<int>(i)); n > 0; --n) out.push_back(symbols_.names[i]);
    return out;
}

std::optional<std::string> SymbolTable::only_symbol(Word const& word) const {
    auto const factors = factors_of(word);
    return factors.size() == 1 ? std::optional(factors.front()) : std::nullopt;
}

std::string SymbolTable::text(Word const& word) const {
    auto const factors = factors_of(word);
    return factors.empty() ? "1" : fmt::format("{}", fmt::join(factors, "*"));
}

std::optional<Relation> relation_between(Sized const& a, Sized const& b, SymbolTable const& table) {
    return Matcher(a, b, table).run();
}

} // namespace espalier::program
