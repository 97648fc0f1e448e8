#pragma once

#include "espalier/base/json.hpp"
#include "espalier/problems/uts/uts_config.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

/// What the benchmark programs share: arguments, lists, named trees.
namespace espalier::perf {

/// `--flag` and `--key value` in any order. Anything else prints the usage and ends the program with code 2.
class Arguments {
public:
    Arguments(std::span<char* const> words, std::string usage) : words_(words.begin() + 1, words.end()), usage_(usage) {
        if (has("--help")) end(0);
        for (std::size_t i = 0; i < words_.size(); ++i) {
            auto const is_option = words_[i].starts_with("--");
            auto const is_value = i > 0 && !is_option && words_[i - 1].starts_with("--");
            if (!is_value && (!is_option || usage_.find(words_[i]) == std::string::npos)) end(2);
        }
    }
    [[nodiscard]] bool has(std::string_view flag) const {
        return std::find(words_.begin(), words_.end(), flag) != words_.end();
    }
    [[nodiscard]] std::string text(std::string_view key, std::string const& otherwise) const {
        auto const found = std::find(words_.begin(), words_.end(), key);
        if (found == words_.end()) return otherwise;
        if (found + 1 == words_.end()) end(2);
        return *(found + 1);
    }
    [[nodiscard]] int number(std::string_view key, int otherwise) const {
        return std::atoi(text(key, std::to_string(otherwise)).c_str());
    }
    /// Comma-separated.
    [[nodiscard]] std::vector<std::string> list(std::string_view key, std::string const& otherwise) const {
        std::vector<std::string> parts;
        std::istringstream stream(text(key, otherwise));
        for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
        return parts;
    }
    [[noreturn]] void end(int code) const {
        fmt::print(code == 0 ? stdout : stderr, "{}", usage_);
        std::exit(code);
    }

private:
    std::vector<std::string> words_;
    std::string usage_;
};

/// Ends the program if there is no tree of this name.
[[nodiscard]] inline problems::uts::UtsConfig named_tree(std::string_view name) {
    for (auto const& tree : problems::uts::named_trees())
        if (tree.name == name) return {.tree = std::string(name), .parameters = tree.parameters};
    fmt::print(stderr, "there is no tree {}: use T1..T5, T1L or T3L\n", name);
    std::exit(2);
}

} // namespace espalier::perf
