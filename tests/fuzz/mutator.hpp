#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::fuzz {

/// Makes bad inputs from good ones. The same seed makes the same inputs.
class Mutator {
public:
    explicit Mutator(std::uint64_t seed) : random_(seed) {}

    /// One to eight changes; parts of `other` are used.
    std::string mutate(std::string input, std::string const& other) {
        for (auto changes = 1 + below(8); changes > 0; --changes) change(input, other);
        constexpr std::size_t most = 1 << 16;
        if (input.size() > most) input.resize(most);
        return input;
    }
    std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

private:
    void change(std::string& text, std::string const& other) {
        switch (below(8)) {
        case 0:
            if (!text.empty()) text[below(text.size())] ^= static_cast<char>(1u << below(8));
            return;
        case 1:
            if (!text.empty()) text[below(text.size())] = static_cast<char>(below(256));
            return;
        case 2:
            text.erase(at(text), below(1 + text.size() / 4));
            return;
        case 3:
            text.insert(at(text), part_of(text));
            return;
        case 4:
            text.insert(at(text), part_of(other));
            return;
        case 5:
            text.insert(at(text), word());
            return;
        case 6:
            return replace_number(text);
        default:
            return move_line(text);
        }
    }
    std::size_t at(std::string const& text) { return below(text.size() + 1); }
    std::string part_of(std::string const& text) { return text.substr(at(text), below(64)); }
    std::string word() {
        static constexpr std::array<std::string_view, 44> words{"\n",
                                                                " ",
                                                                ": ",
                                                                "- ",
                                                                "{",
                                                                "}",
                                                                "[",
                                                                "]",
                                                                "\"",
                                                                "'",
                                                                "#",
                                                                "&a ",
                                                                "*a",
                                                                "!t ",
                                                                "|\n",
                                                                ">\n",
                                                                "? ",
                                                                "---\n",
                                                                "...",
                                                                "%",
                                                                "\t",
                                                                ",",
                                                                "~",
                                                                "<<:",
                                                                "\r",
                                                                "true",
                                                                "\xEF\xBB\xBF",
                                                                "\xED\xA0\x80",
                                                                "\xC2\x85",
                                                                "\x00",
                                                                "\x1b[",
                                                                "\x7f",
                                                                "e308",
                                                                "-0",
                                                                ".nan",
                                                                ".inf",
                                                                "0x10",
                                                                "auto",
                                                                "none",
                                                                "1e400",
                                                                "[[[[",
                                                                "{{{{",
                                                                "9999999999999999999",
                                                                "\\u0000"};
        return std::string(words[below(words.size())]);
    }
    std::string number() {
        static constexpr std::array<std::string_view, 16> numbers{"0",
                                                                  "1",
                                                                  "-1",
                                                                  "2147483647",
                                                                  "2147483648",
                                                                  "-2147483649",
                                                                  "4294967296",
                                                                  "9223372036854775807",
                                                                  "9223372036854775808",
                                                                  "-9223372036854775808",
                                                                  "18446744073709551615",
                                                                  "18446744073709551616",
                                                                  "0.5",
                                                                  "1e18",
                                                                  "3037000500",
                                                                  "-0"};
        return std::string(numbers[below(numbers.size())]);
    }
    void replace_number(std::string& text) {
        constexpr auto digits = "0123456789";
        auto const first = text.find_first_of(digits, at(text));
        if (first == std::string::npos) return;
        auto const last = std::min(text.find_first_not_of(digits, first), text.size());
        text.replace(first, last - first, number());
    }
    /// Lines keep their inside, so that more of what is made is nearly right.
    void move_line(std::string& text) {
        auto const start = text.rfind('\n', at(text));
        if (start == std::string::npos) return;
        auto const end = std::min(text.find('\n', start + 1), text.size());
        auto const line = text.substr(start, end - start);
        if (below(2) == 0) text.erase(start, line.size());
        auto const to = text.find('\n', at(text));
        text.insert(to == std::string::npos ? text.size() : to, line);
    }

    std::mt19937_64 random_;
};

} // namespace espalier::fuzz
