#include "espalier/expr/expressions.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/error.hpp"

#include "closure.hpp"
#include "division.hpp"
#include "text.hpp"

namespace espalier::expr {
namespace {

/// An Origin in a few bytes: `a` of a leaf is its index, `a` and `b` of a call are a part of the list of arguments.
struct OriginRecord {
    Origin::Op op{};
    program::OpCode function{};
    bool is_known = false;
    std::uint32_t word = 0;
    std::uint32_t a = 0, b = 0;
};

constexpr std::uint32_t longer_list = 1u << 31; ///< tells lists of arguments from names of functions

} // namespace

struct Expressions::Impl {
    Algebra algebra;
    std::vector<OriginRecord> origins; ///< by expression
    std::vector<ExprId> arguments;     ///< of the calls among them
    std::size_t max_monomials = 0;

    /// The first way to build an expression is the one that is kept.
    ExprId remember(ExprId e, OriginRecord origin) {
        if (e == too_large) return e;
        if (e.value >= origins.size()) origins.resize(algebra.store().expression_count());
        origin.is_known = true;
        if (!origins[e.value].is_known) origins[e.value] = origin;
        return e;
    }
    ExprId remember_call(ExprId e, OriginRecord origin, std::span<ExprId const> of) {
        origin.a = static_cast<std::uint32_t>(arguments.size());
        origin.b = static_cast<std::uint32_t>(of.size());
        auto const is_new = e != too_large && (e.value >= origins.size() || !origins[e.value].is_known);
        if (is_new) arguments.insert(arguments.end(), of.begin(), of.end());
        return remember(e, origin);
    }
};

bool Pattern::allows(Word const& quotient) const {
    for (int s = 0; s < Word::max_symbols; ++s) {
        int split = 0;
        for (int d = 0; d < Word::max_symbols && quotient.exponent(s) < 0; ++d)
            if (split_by[static_cast<std::size_t>(s)] >> d & 1) split += std::max(0, quotient.exponent(d));
        if (quotient.exponent(s) < -split) return false;
    }
    return true;
}

Expressions::Expressions() : patterns_(1), impl_(std::make_unique<Impl>()) {
    impl_->algebra.set_limit(max_target_monomials);
    forget_answers();
}

Expressions::~Expressions() = default;
Expressions::Expressions(Expressions&&) noexcept = default;
Expressions& Expressions::operator=(Expressions&&) noexcept = default;

Algebra const& Expressions::algebra() const { return impl_->algebra; }

ExprId Expressions::build_leaf(int index) {
    ESP_EXPECT(index >= 0);
    auto const number = static_cast<std::uint32_t>(index);
    auto const e = impl_->algebra.leaf(index);
    leaves_.insert(number, 0, e.value);
    return impl_->remember(e, {.op = Origin::Op::leaf, .a = number});
}

ExprId Expressions::build_add(ExprId a, ExprId b) {
    if (b < a) std::swap(a, b);
    if (b == too_large) return too_large;
    auto const e = impl_->algebra.add(a, b);
    sums_.insert(a.value, b.value, e.value);
    return impl_->remember(e, {.op = Origin::Op::add, .a = a.value, .b = b.value});
}

ExprId Expressions::build_mul(ExprId a, ExprId b) {
    if (b < a) std::swap(a, b);
    if (b == too_large) return too_large;
    auto const e = impl_->algebra.mul(a, b);
    products_.insert(a.value, b.value, e.value);
    return impl_->remember(e, {.op = Origin::Op::mul, .a = a.value, .b = b.value});
}

ExprId Expressions::build_div(ExprId a, ExprId b) {
    if (a == too_large || b == too_large) return too_large;
    auto const e = impl_->algebra.div(a, b);
    quotients_.insert(a.value, b.value, e.value);
    return impl_->remember(e, {.op = Origin::Op::div, .a = a.value, .b = b.value});
}

ExprId Expressions::build_sum(std::uint32_t size, ExprId a) {
    if (a == too_large) return too_large;
    auto const e = impl_->algebra.sum(words_[size], a);
    reductions_.insert(size, a.value, e.value);
    return impl_->remember(e, {.op = Origin::Op::sum, .word = size, .a = a.value});
}

ExprId Expressions::call(program::OpCode function, Word const& size, std::span<ExprId const> arguments) {
    ESP_EXPECT(!arguments.empty());
    auto const list = number_of(function, size, arguments);
    auto const last = arguments.back().value;
    if (auto const* known = calls_.find(list, last)) return ExprId{*known};
    auto const e = impl_->algebra.call(function, size, arguments);
    calls_.insert(list, last, e.value);
    return impl_->remember_call(e, {.op = Origin::Op::call, .function = function, .word = words_.number_of(size)},
                                arguments);
}

// A name and all arguments but the last, one after the other.
std::uint32_t Expressions::number_of(program::OpCode function, Word const& size, std::span<ExprId const> arguments) {
    constexpr int bits = 6;
    static_assert(program::op_count <= 1 << bits);
    auto list = words_.number_of(size) << bits | static_cast<std::uint32_t>(function);
    for (auto const argument : arguments.first(arguments.size() - 1)) {
        auto const* known = argument_lists_.find(list, argument.value);
        auto const next = known ? *known : longer_list + static_cast<std::uint32_t>(argument_lists_.size());
        if (!known) argument_lists_.insert(list, argument.value, next);
        list = next;
    }
    return list;
}

void Expressions::set_targets(std::span<ExprId const> targets) {
    if (std::ranges::find(targets, too_large) != targets.end())
        throw base::InputError("the program: an output has more than {} terms as an abstract expression (they are all "
                               "held in memory): search smaller programs",
                               max_target_monomials);
    closure_ = closure_of(impl_->algebra.store(), targets);
    impl_->max_monomials = 0;
    for (auto const e : closure_) impl_->max_monomials = std::max(impl_->max_monomials, monomials(e));
    impl_->algebra.set_limit(impl_->max_monomials);
    auto const& store = impl_->algebra.store();
    impl_->algebra.set_has_inverses(std::ranges::any_of(closure_, [&](ExprId e) {
        return std::ranges::any_of(store[e], [&](MonoId id) { return !store[id].has_numerator(); });
    }));
    for (auto* table : {&sums_, &products_, &quotients_, &reductions_, &calls_}) table->clear();
    forget_answers();
}

void Expressions::set_exponentials(Exponentials exponentials) {
    impl_->algebra.set_keeps_maxima(exponentials == Exponentials::shifted);
    forget_answers();
}

void Expressions::forget_answers() {
    any_pattern_.clear();
    answers_.assign(patterns_.size(), {});
}

bool Expressions::occurs(program::OpCode function) const {
    auto const& store = impl_->algebra.store();
    return std::ranges::any_of(closure_, [&](ExprId e) {
        return std::ranges::any_of(store[e], [&](MonoId id) { return has(store, store[id], function); });
    });
}

std::uint32_t Expressions::pattern(Pattern const& pattern) {
    auto const known = std::ranges::find(patterns_, pattern);
    auto const number = static_cast<std::uint32_t>(known - patterns_.begin());
    if (known == patterns_.end()) {
        patterns_.push_back(pattern);
        answers_.emplace_back();
    }
    return number;
}

Expressions::Answer Expressions::decide(ExprId e, std::uint32_t pattern) {
    ESP_EXPECT(!closure_.empty());
    if (e == too_large) return Answer::no;
    auto& known = answers_[pattern];
    if (e.value >= known.size()) known.resize(std::bit_ceil(e.value + 1ull), undecided);
    if (e.value >= any_pattern_.size()) any_pattern_.resize(known.size(), undecided);
    auto& byte = known[e.value];
    if (any_pattern_[e.value] != undecided) return static_cast<Answer>(byte = any_pattern_[e.value]);

    Division division(impl_->algebra, patterns_[pattern]);
    auto const is_part = std::ranges::any_of(closure_, [&](ExprId whole) { return division.is_top_part(e, whole); });
    auto const answer = is_part ? Answer::yes : division.is_exhausted() ? Answer::unknown : Answer::no;
    byte = static_cast<std::uint8_t>(answer);
    if (!division.depends_on_pattern() && answer != Answer::unknown) any_pattern_[e.value] = byte;
    return answer;
}

std::size_t Expressions::max_monomials() const { return impl_->max_monomials; }

std::size_t Expressions::monomials(ExprId e) const { return impl_->algebra.store()[e].size(); }

// Without the two that are not terms.
std::size_t Expressions::size() const { return impl_->algebra.store().expression_count() - 2; }

std::size_t Expressions::memory_bytes() const {
    auto bytes = impl_->algebra.memory_bytes() + words_.memory_bytes() +
                 impl_->origins.capacity() * sizeof(OriginRecord) + impl_->arguments.capacity() * sizeof(ExprId) +
                 any_pattern_.capacity();
    for (auto const* table : {&leaves_, &sums_, &products_, &quotients_, &reductions_, &calls_, &argument_lists_})
        bytes += table->memory_bytes();
    for (auto const& known : answers_) bytes += known.capacity();
    return bytes;
}

std::string Expressions::text(ExprId e, std::span<std::string const> symbol_names) const {
    return text_of(impl_->algebra.store(), e, symbol_names);
}

std::optional<Origin> Expressions::origin(ExprId e) const {
    if (e.value >= impl_->origins.size() || !impl_->origins[e.value].is_known) return std::nullopt;
    auto const& record = impl_->origins[e.value];
    Origin out{.op = record.op, .size = words_[record.word], .function = record.function};
    if (record.op == Origin::Op::leaf)
        out.leaf = static_cast<int>(record.a);
    else if (record.op == Origin::Op::call)
        out.arguments.assign(impl_->arguments.begin() + record.a, impl_->arguments.begin() + record.a + record.b);
    else {
        out.a = ExprId{record.a};
        out.b = ExprId{record.b};
    }
    return out;
}

} // namespace espalier::expr
