#include "espalier/problems/mutation/arrangement.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/hash.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace espalier::problems::mutation {
namespace {

constexpr std::string_view image_axes = "NCHW";
constexpr std::string_view matrix_axes = "RC";

std::string_view axes(int rank) { return rank == 2 ? matrix_axes : image_axes; }

struct Named {
    std::string_view name;
    Move move;
};
constexpr std::array<Named, 10> named{{{"N2H", {0, 2, false, true}},
                                       {"H2N", {2, 0, true, false}},
                                       {"N2W", {0, 3, false, true}},
                                       {"W2N", {3, 0, true, false}},
                                       {"C2H", {1, 2, false, false}},
                                       {"C2W", {1, 3, false, false}},
                                       {"sortH", {2, 2, false, true}},
                                       {"unsortH", {2, 2, true, false}},
                                       {"sortW", {3, 3, false, true}},
                                       {"unsortW", {3, 3, true, false}}}};

std::uint64_t content(Arrangement const& tensor) {
    return base::hash_combine(base::hash_bytes(std::as_bytes(std::span(tensor.sizes))),
                              base::hash_bytes(std::as_bytes(std::span(tensor.from))));
}

/// Positions of a tensor, one after the other.
class Counter {
public:
    explicit Counter(Sizes const& sizes) : sizes_(sizes), at_(sizes.size(), 0) {}
    [[nodiscard]] Sizes const& at() const { return at_; }
    void next() {
        for (auto i = at_.size(); i-- > 0;) {
            if (++at_[i] < sizes_[i]) return;
            at_[i] = 0;
        }
    }

private:
    Sizes const& sizes_;
    Sizes at_;
};

std::uint32_t flat(Sizes const& position, Sizes const& sizes) {
    std::int32_t out = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) out = out * sizes[i] + position[i];
    return static_cast<std::uint32_t>(out);
}

std::optional<Arrangement> transposed(Arrangement const& tensor) {
    Arrangement out{{tensor.sizes[1], tensor.sizes[0]}, {}};
    for (std::int32_t i = 0; i < out.sizes[0]; ++i)
        for (std::int32_t j = 0; j < out.sizes[1]; ++j)
            out.from.push_back(tensor.from[static_cast<std::size_t>(j * tensor.sizes[1] + i)]);
    return out == tensor ? std::nullopt : std::optional(std::move(out));
}

/// A digit and the rest of a coordinate.
struct Cut {
    std::int32_t digit = 0, rest = 0;
};
Cut cut(std::int32_t x, std::int32_t rest_size, bool is_high) {
    return is_high ? Cut{x / rest_size, x % rest_size} : Cut{x % 2, x / 2};
}
std::int32_t joined(Cut const& parts, std::int32_t rest_size, bool is_high) {
    return is_high ? parts.digit * rest_size + parts.rest : 2 * parts.rest + parts.digit;
}

} // namespace

std::int64_t element_count(Sizes const& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>{});
}

Move inverse(Move const& move) { return {move.to, move.from, move.to_high, move.from_high, move.is_transpose}; }

std::string to_text(Move const& move, int rank) {
    if (move.is_transpose) return "transpose";
    auto const known = std::ranges::find(named, move, &Named::move);
    if (rank == 4 && known != named.end()) return std::string(known->name);
    auto const part = [&](std::uint8_t axis, bool is_high) {
        return std::string(1, axes(rank)[axis]) + (is_high ? ".high" : ".low");
    };
    return part(move.from, move.from_high) + ">" + part(move.to, move.to_high);
}

std::optional<Move> find_move(std::string_view text, int rank) {
    for (auto const& move : generic_moves(rank))
        if (to_text(move, rank) == text) return move;
    return std::nullopt;
}

std::vector<Move> named_moves() {
    std::vector<Move> out;
    for (auto const& one : named) out.push_back(one.move);
    return out;
}

std::vector<Move> generic_moves(int rank) {
    std::vector<Move> out;
    for (std::uint8_t from = 0; from < rank; ++from)
        for (std::uint8_t to = 0; to < rank; ++to)
            for (auto const from_high : {false, true})
                for (auto const to_high : {false, true})
                    if (from != to || from_high != to_high) out.push_back({from, to, from_high, to_high});
    if (rank == 2) out.push_back({.is_transpose = true});
    return out;
}

std::vector<Move> Family::moves(int rank) const {
    if (kind == Kind::generic) return generic_moves(rank);
    if (kind == Kind::named10) return rank == 4 ? named_moves() : std::vector<Move>{};
    std::vector<Move> out;
    for (auto const& name : listed)
        if (auto const move = find_move(name, rank)) out.push_back(*move);
    return out;
}

Arrangement unchanged(Sizes const& sizes) {
    Arrangement out{sizes, std::vector<std::uint32_t>(static_cast<std::size_t>(element_count(sizes)))};
    std::iota(out.from.begin(), out.from.end(), 0u);
    return out;
}

std::optional<Arrangement> moved(Arrangement const& tensor, Move const& move) {
    if (move.is_transpose) return transposed(tensor);
    if (tensor.sizes[move.from] % 2 != 0) return std::nullopt;
    Arrangement out{tensor.sizes, {}};
    out.sizes[move.from] /= 2;
    auto const rest_from = out.sizes[move.from], rest_to = out.sizes[move.to];
    out.sizes[move.to] *= 2;
    out.from.reserve(tensor.from.size());
    Counter counter(out.sizes);
    for (std::size_t i = 0; i < tensor.from.size(); ++i, counter.next()) {
        auto old = counter.at();
        auto const [digit, rest] = cut(old[move.to], rest_to, move.to_high);
        old[move.to] = rest;
        old[move.from] = joined({digit, old[move.from]}, rest_from, move.from_high);
        out.from.push_back(tensor.from[flat(old, tensor.sizes)]);
    }
    return out == tensor ? std::nullopt : std::optional(std::move(out));
}

Chains::Chains(Sizes const& sizes, std::vector<Move> moves, int longest) : moves_(std::move(moves)), longest_(longest) {
    ESP_EXPECT(moves_.size() < 256);
    std::map<std::size_t, std::uint64_t> layer{{place_of(unchanged(sizes), {}, moves_.size()), 1}};
    for (int length = 0; length <= longest; ++length) {
        std::map<std::size_t, std::uint64_t> next;
        for (auto const& [place, ways] : layer) {
            all_[place].ways[static_cast<std::size_t>(length)] += ways;
            if (length == longest) continue;
            for (std::size_t i = 0; i < moves_.size(); ++i)
                if (auto made = moved(all_[place].arrangement, moves_[i]))
                    next[place_of(std::move(*made), Moves(all_[place].moves), i)] += ways;
        }
        layer = std::move(next);
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
        by_moves_.emplace(all_[i].moves, i);
        by_sizes_[all_[i].arrangement.sizes].push_back(i);
    }
}

std::size_t Chains::place_of(Arrangement arrangement, Moves const& before, std::size_t move) {
    auto const hash = content(arrangement);
    auto const [begin, end] = by_content_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
        if (all_[it->second].arrangement == arrangement) return it->second;
    Chain chain{std::move(arrangement), before, std::vector<std::uint64_t>(static_cast<std::size_t>(longest_) + 1)};
    if (move < moves_.size()) chain.moves.push_back(static_cast<std::uint8_t>(move));
    all_.push_back(std::move(chain));
    by_content_.emplace(hash, all_.size() - 1);
    return all_.size() - 1;
}

Chain const* Chains::find(Moves const& moves) const {
    auto const found = by_moves_.find(moves);
    return found == by_moves_.end() ? nullptr : &all_[found->second];
}

std::vector<std::size_t> const& Chains::of_sizes(Sizes const& sizes) const {
    static std::vector<std::size_t> const none;
    auto const found = by_sizes_.find(sizes);
    return found == by_sizes_.end() ? none : found->second;
}

} // namespace espalier::problems::mutation
