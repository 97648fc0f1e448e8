#pragma once

#include "espalier/codegen/plan.hpp"

#include <string>
#include <string_view>

namespace espalier::codegen {

/// Text that grows line by line.
class Lines {
public:
    void add(std::string const& line) { text_ += std::string(4 * depth_, ' ') + line + '\n'; }
    void open(std::string const& line) {
        add(line.empty() ? "{" : line + " {");
        ++depth_;
    }
    void close() {
        --depth_;
        add("}");
    }
    /// A directive, which begins at the margin.
    void directive(std::string const& line) { text_ += line + '\n'; }
    [[nodiscard]] std::string const& text() const { return text_; }

private:
    std::string text_;
    std::size_t depth_ = 0;
};

/// As a line of a comment, whatever the name contains: nothing ends the comment or continues it on the next line.
[[nodiscard]] std::string comment_text(std::string_view text);
/// Below a comment that says what it is.
[[nodiscard]] std::string titled(std::string_view about, std::string const& text);

/// Of its elements, in the vocabulary of the preludes.
[[nodiscard]] std::string type_name(Buffer const& buffer);
/// `NUMBER(0.1)`: a constant in the numbers of the arithmetic.
[[nodiscard]] std::string number_text(double value);
/// Prints the loops of a step in the vocabulary of the preludes. The pointers of its buffers are in scope, and x, y, z
/// and s, the block and the step of the loop. `is_shared`: by all threads.
void print_step(Step const& step, std::vector<Buffer> const& buffers, bool is_shared, Lines& out);

} // namespace espalier::codegen
