#pragma once

#include "step_text.hpp"

#include <string_view>

namespace espalier::codegen {

/// How the preludes say what a reducer does.
struct ReducerText {
    std::string_view start, fold, simd;
};
[[nodiscard]] ReducerText const& text_of(program::Reducer reducer);

/// `a + b`, or 0; `of * 4L`.
[[nodiscard]] std::string sum_of(std::vector<std::string> const& terms);
[[nodiscard]] std::string times(std::int64_t factor, std::string const& of);

/// Addresses and values of a step, in the vocabulary of the preludes. Derived classes print the loops around them.
class StepWords {
protected:
    StepWords(Step const& step, std::vector<Buffer> const& buffers, Lines& out)
        : step_(step), buffers_(buffers), out_(out), rank_(static_cast<std::size_t>(step.kept.rank())) {}
    StepWords(StepWords const&) = default;
    StepWords& operator=(StepWords const&) = delete;
    ~StepWords() = default;

    [[nodiscard]] Buffer const& buffer(View const& view) const { return buffers_[view.buffer]; }
    [[nodiscard]] std::string start_of(View const& view) const;
    /// How far a loop goes: a number, or in tiles of which the last is smaller a variable that end_loops() defines
    /// for step `s` of the loop, an expression.
    [[nodiscard]] std::string end_of(std::size_t loop) const;
    void end_loops(std::string_view integer, std::string_view s = "s");

    /// Returns the name of the last term.
    std::string print_formula(Formula const& formula, std::string_view prefix, std::string const& reduced);
    /// Adds the value of the body to the reduction.
    void fold(std::string const& into);
    /// From the reduced value to the stored one.
    void finish(std::string const& reduced);
    void store(std::string const& value);
    /// Which element of a view is read or written, in the loops of the step.
    [[nodiscard]] std::string place_text(Source const& source) const;
    [[nodiscard]] std::string target_place() const;

    Step const& step_;
    std::vector<Buffer> const& buffers_;
    Lines& out_;
    std::size_t rank_;

private:
    [[nodiscard]] std::string digit_text(program::LoopDigit const& digit) const;
    [[nodiscard]] std::string position_text(program::Position const& position) const;
    [[nodiscard]] std::string load(Source const& source, std::string const& name) const;
    [[nodiscard]] std::vector<std::string> guards(Source const& source) const;
    [[nodiscard]] std::int64_t reaches(program::Position const& position) const;
    [[nodiscard]] std::string term_text(Term const& term, std::string_view prefix, std::string const& reduced) const;
    [[nodiscard]] std::string read_text(std::size_t i) const;
    bool open_skip();
    [[nodiscard]] std::string_view step_fold() const;
    [[nodiscard]] std::string store_text(std::string const& at, std::string const& value) const;
};

} // namespace espalier::codegen
