#include "lists.hpp"

#include "espalier/base/error.hpp"

#include <algorithm>
#include <charconv>

namespace espalier::app {

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words(1);
    for (auto const letter : text) {
        if (letter == ',')
            words.emplace_back();
        else if (letter != ' ')
            words.back() += letter;
    }
    return words;
}

std::vector<int> node_numbers(std::string const& text, std::string_view more) {
    constexpr int most_nodes = 1'000'000;
    std::vector<int> nodes;
    for (auto const& word : words_of(text)) {
        int count = 0;
        auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
        if (error != std::errc() || end != word.data() + word.size() || count < 1 || count > most_nodes)
            throw base::InputError("--nodes {}: '{}' is not a number of nodes (1 to {}): use e.g. --nodes 1,16,256{}",
                                   text, word, most_nodes, more);
        nodes.push_back(count);
    }
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
}

} // namespace espalier::app
