#include "tail_rules.hpp"

#include "espalier/program/meaning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace espalier::program {
namespace {

using Objection = std::string;

/// The loops of one nest, as its reads say.
class LoopTails {
public:
    explicit LoopTails(Nest const& nest) : nest_(nest), tails_(nest.loops()) {}

    void add(Read const& read, Tails const& tails) {
        for (int d = 0; d < read.index.rank(); ++d) {
            auto const& tail = tails[static_cast<std::size_t>(d)];
            auto const& position = read.index[d];
            if (tail.is_there() && !is_as_it_is(position, read.shape[d]))
                problem_ = "it does not read a dimension whose last tile is smaller from end to end";
            for (auto const& digit : position.digits) unite(digit.loop, tail);
        }
        has_steps_ = has_steps_ || !read.step.digits.empty();
    }
    [[nodiscard]] Objection problem() const {
        if (!problem_.empty()) return problem_;
        auto const is_counted = std::ranges::any_of(
            nest_.epilogue, [](ScalarNode const& node) { return node.kind == ScalarNode::Kind::count; });
        for (std::size_t i = kept(); i < tails_.size() && is_counted; ++i)
            if (has_tail(i) && !(has_steps_ && tails_[i]->loop && tails_[i]->grid == Tail{}.grid))
                return "its mean would be over parts of different sizes: reduce over the whole dimension";
        return {};
    }
    [[nodiscard]] Tails of_result() const {
        Tails out;
        for (std::size_t i = 0; i < kept(); ++i)
            if (has_tail(i)) out[i] = *tails_[i];
        return out;
    }

private:
    [[nodiscard]] std::size_t kept() const { return static_cast<std::size_t>(nest_.kept.rank()); }
    [[nodiscard]] bool has_tail(std::size_t loop) const { return tails_[loop] && tails_[loop]->is_there(); }
    /// `size`: of the dimension that is read.
    [[nodiscard]] bool is_as_it_is(Position const& position, std::int64_t size) const {
        if (position.digits.size() != 1 || position.offset != 0) return false;
        auto const& digit = position.digits[0];
        return digit.stride == 1 && digit.below == 1 && digit.size == size && size == nest_.loop_size(digit.loop);
    }
    void unite(std::size_t loop, Tail const& tail) {
        auto& known = tails_[loop];
        if (known && *known != tail)
            problem_ = "its operands are cut into last tiles of different sizes, or not all of them are";
        known = tail;
    }

    Nest const& nest_;
    std::vector<std::optional<Tail>> tails_;
    Objection problem_;
    bool has_steps_ = false;
};

bool is_last(Tail const& tail, Schedule const& schedule, BlockStep const& at) {
    for (std::size_t a = 0; a < 3; ++a)
        if (tail.grid[a] && at.block[a] + 1 != schedule.grid[a]) return false;
    return !tail.loop || at.step + 1 == schedule.loop;
}

} // namespace

TileSize size_of_tile(std::int64_t whole, std::int64_t parts, std::int64_t last) {
    if (parts < 1) return {0, "which do not divide it"};
    auto const size = (whole + parts - 1) / parts, rest = whole - (parts - 1) * size;
    if (whole % parts == 0) return {size, last == 0 ? "" : "which are all of one size: leave out `last`"};
    if (rest == last && rest > 0) return {size, ""};
    if (rest <= 0 || last != 0)
        return {0, fmt::format("the last of which cannot be {}: {}", last,
                               rest > 0 ? fmt::format("it is {}", rest) : "fewer parts are enough")};
    return {0, fmt::format("which do not divide it: say that the last one has {} if it may be smaller", rest)};
}

ResultTails tails_of_result(OpInfo const& row, RuleInput<std::int64_t> const& in, std::span<Tails const> operands) {
    std::vector<Tails> sources(operands.begin(), operands.end());
    auto const has_any = [](Tails const& tails) { return std::ranges::any_of(tails, &Tail::is_there); };
    if (row.field.move == Move::reshape && row.field.access == Access::rearrange &&
        std::ranges::any_of(operands, has_any))
        return {{}, "its sizes are those of tiles that are not the last"};
    for (auto const& nest : meaning_of(row, in).nests) {
        LoopTails loops(nest);
        for (auto const& read : nest.reads) loops.add(read, sources[read.source]);
        if (auto const problem = loops.problem(); !problem.empty()) return {{}, problem};
        sources.push_back(loops.of_result());
        if (is_accumulator(row) && std::ranges::any_of(sources.back(), &Tail::loop))
            return {{}, "the last tile of the loop is smaller, and such tiles do not add up: reduce them in the loop"};
    }
    return {sources.back(), {}};
}

std::int64_t parts_of(Tail const& tail, Schedule const& schedule) {
    std::int64_t out = tail.loop ? schedule.loop : 1;
    for (std::size_t a = 0; a < 3; ++a)
        if (tail.grid[a]) out *= schedule.grid[a];
    return out;
}

std::int64_t whole_size(std::int64_t tile, Tail const& tail, Schedule const& schedule) {
    return tail.is_there() ? (parts_of(tail, schedule) - 1) * tile + tail.last : tile;
}

std::int64_t size_at(std::int64_t tile, Tail const& tail, Schedule const& schedule, BlockStep const& at) {
    return tail.is_there() && is_last(tail, schedule, at) ? tail.last : tile;
}

Shape shape_at(Shape const& tile, Tails const& tails, Schedule const& schedule, BlockStep const& at) {
    auto out = tile;
    for (int d = 0; d < tile.rank(); ++d) out[d] = size_at(tile[d], tails[static_cast<std::size_t>(d)], schedule, at);
    return out;
}

Tails tails_of(Partition const& partition) {
    Tails out;
    for (std::size_t d = 0; d < out.size(); ++d) {
        if (partition.last[d] == 0) continue;
        out[d] = {.loop = partition.loop == static_cast<int>(d), .last = partition.last[d]};
        for (std::size_t a = 0; a < 3; ++a) out[d].grid[a] = partition.grid[a] == static_cast<int>(d);
    }
    return out;
}

Partition with_tails(Partition partition, Shape const& whole, Schedule const& schedule) {
    for (int d = 0; d < whole.rank(); ++d) {
        auto const at = static_cast<std::size_t>(d);
        partition.last[at] = 1; // so that it is known which axes cut this dimension
        auto const parts = parts_of(tails_of(partition)[at], schedule);
        auto const size = (whole[d] + parts - 1) / parts;
        partition.last[at] = whole[d] % parts == 0 ? 0 : std::max<std::int64_t>(whole[d] - (parts - 1) * size, 0);
    }
    return partition;
}

} // namespace espalier::program
