#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// Tensors whose elements stand in another order, and the moves that bring them there.
namespace espalier::problems::mutation {

using Sizes = std::vector<std::int32_t>;
[[nodiscard]] std::int64_t element_count(Sizes const& sizes);

/// Axis `from` of size 2q is cut into a digit and a rest (a high digit: x = digit q + rest, a low one: x = 2 rest +
/// digit), and the digit becomes the high or the low one of axis `to`. Or the two axes of a matrix change places.
struct Move {
    std::uint8_t from = 0, to = 0;
    bool from_high = false, to_high = false;
    bool is_transpose = false;

    auto operator<=>(Move const&) const = default;
};
[[nodiscard]] Move inverse(Move const& move);
/// `N2H`, `sortH`, or `N.low>H.low`; a matrix has the axes R and C.
[[nodiscard]] std::string to_text(Move const& move, int rank);
[[nodiscard]] std::optional<Move> find_move(std::string_view text, int rank);
/// Those of PET, on NCHW.
[[nodiscard]] std::vector<Move> named_moves();
/// All of them.
[[nodiscard]] std::vector<Move> generic_moves(int rank);

/// Which moves a search may make.
struct Family {
    enum class Kind : std::uint8_t { named10, generic, listed };
    Kind kind = Kind::named10;
    std::vector<std::string> listed; ///< by name

    bool operator==(Family const&) const = default;
    /// Of tensors of that rank.
    [[nodiscard]] std::vector<Move> moves(int rank) const;
};

/// A tensor whose element i is element from[i] of the one that was arranged.
struct Arrangement {
    Sizes sizes;
    std::vector<std::uint32_t> from;

    bool operator==(Arrangement const&) const = default;
};
[[nodiscard]] Arrangement unchanged(Sizes const& sizes);
/// Nothing if an axis is odd, or if nothing would change.
[[nodiscard]] std::optional<Arrangement> moved(Arrangement const& tensor, Move const& move);

/// Moves by their places in a family.
using Moves = std::vector<std::uint8_t>;

/// All chains of moves that give the same arrangement.
struct Chain {
    Arrangement arrangement;
    Moves moves;                     ///< the first of the shortest
    std::vector<std::uint64_t> ways; ///< how many chains there are, by length
};

/// What chains of at most `longest` moves make of a tensor.
class Chains {
public:
    Chains(Sizes const& sizes, std::vector<Move> moves, int longest);

    [[nodiscard]] std::vector<Chain> const& all() const { return all_; }
    [[nodiscard]] std::vector<Move> const& moves() const { return moves_; }
    /// Null if no chain begins its list with these moves.
    [[nodiscard]] Chain const* find(Moves const& moves) const;
    /// Places in all() of those with these sizes.
    [[nodiscard]] std::vector<std::size_t> const& of_sizes(Sizes const& sizes) const;

private:
    [[nodiscard]] std::size_t place_of(Arrangement arrangement, Moves const& before, std::size_t move);

    std::vector<Move> moves_;
    int longest_;
    std::vector<Chain> all_;
    std::unordered_multimap<std::uint64_t, std::size_t> by_content_;
    std::map<Moves, std::size_t> by_moves_;
    std::map<Sizes, std::vector<std::size_t>> by_sizes_;
};

} // namespace espalier::problems::mutation
