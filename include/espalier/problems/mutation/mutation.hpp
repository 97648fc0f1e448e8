#pragma once

#include "espalier/problems/mutation/mutation_config.hpp"
#include "espalier/search/problem.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace espalier::problems::mutation {

/// A linear program with the same inputs and the same output shape as another one: each input is rearranged, the op is
/// applied, and its result is rearranged.
struct Mutant {
    bool is_swapped = false;     ///< the second input is the first operand
    std::array<Moves, 2> before; ///< of the operands, by places in the family of their rank
    Windows windows;
    Moves after; ///< of the result, by places in the family, the last one first

    auto operator<=>(Mutant const&) const = default;
    [[nodiscard]] int length() const {
        return static_cast<int>(before[0].size() + before[1].size() + after.size()) + 1;
    }
};
void pack(Mutant const& mutant, base::ByteWriter& writer);
/// Throws SystemError if the bytes are not a mutant.
[[nodiscard]] Mutant unpack_mutant(base::ByteReader& reader);

/// A function that equals the original on a part of the output.
struct Partial {
    Mutant mutant;              ///< the first of its shortest expressions
    std::uint64_t programs = 0; ///< expressions of it
    std::uint64_t equal = 0;    ///< elements of the output
    std::uint64_t elements = 0; ///< of the output
    std::uint32_t mask_crc = 0; ///< of 0/1 bytes of its elements
};
void pack(Partial const& partial, base::ByteWriter& writer);
[[nodiscard]] Partial unpack_partial(base::ByteReader& reader);

/// All that is said of mutants of one program: what they compute, and how they are written.
class Mutants {
public:
    explicit Mutants(MutationConfig const& config);

    [[nodiscard]] LinearProgram const& original() const { return original_; }
    /// Of input 0 or 1.
    [[nodiscard]] Chains const& of_input(std::size_t input) const { return inputs_[input]; }
    /// From the output backwards.
    [[nodiscard]] Chains const& of_output() const { return output_; }
    [[nodiscard]] int max_ops() const { return config_.max_ops; }
    /// Which input an operand of the mutant is.
    [[nodiscard]] static std::size_t input_of(Mutant const& mutant, std::size_t operand) {
        return mutant.is_swapped ? 1 - operand : operand;
    }
    /// The op in the middle, on operands as they are arranged. Throws SystemError if its moves are not known.
    [[nodiscard]] LinearProgram middle(Mutant const& mutant) const;
    [[nodiscard]] Chain const& chain(Mutant const& mutant, std::size_t operand) const;
    /// Of the middle, in the order of its elements, on random values.
    [[nodiscard]] std::vector<std::uint64_t> middle_values(Mutant const& mutant) const;
    /// Of the whole.
    [[nodiscard]] std::vector<std::uint64_t> values(Mutant const& mutant) const;
    [[nodiscard]] std::vector<std::uint64_t> const& original_values() const { return original_values_; }
    /// For each element of the output whether it is the same sum of the same products as in the original: exact.
    [[nodiscard]] std::vector<std::uint8_t> equal_elements(Mutant const& mutant) const;
    /// `N2H(conv(X, C2H(W), stride 1, dilation 2x1, padding 0))`.
    [[nodiscard]] std::string text(Mutant const& mutant) const;

private:
    MutationConfig config_;
    LinearProgram original_;
    std::array<Chains, 2> inputs_;
    Chains output_;
    std::array<std::vector<std::uint64_t>, 2> random_;
    std::vector<std::uint64_t> original_values_;
};

/// All mutants of a linear program, and on which part of the output each is right (after PET).
///
/// Stage 0: a node is a pair of arranged inputs, or the op on them; every rearrangement of its result that has the
/// output's shape is a program, emitted under the function that it computes. Stage 1: a node is a function; those that
/// equal the original somewhere are results. Chains of moves that give the same arrangement are one, with their number.
class Mutation {
public:
    enum class NodeKind : std::uint8_t { root, operands, middle, bucket, function };
    struct Node {
        NodeKind kind = NodeKind::root;
        Mutant mutant;
        std::uint64_t programs = 0; ///< of a function
        search::Bucket bucket;
    };
    struct Workspace {
        search::Notes* notes;
    };
    using Result = Partial;

    explicit Mutation(MutationConfig const& config) : mutants_(std::make_shared<Mutants const>(config)) {}

    [[nodiscard]] search::ProblemInfo info() const;
    [[nodiscard]] std::vector<Node> roots() const { return {Node{}}; }
    [[nodiscard]] Workspace make_workspace(search::Notes& notes) const { return {&notes}; }
    [[nodiscard]] Node bucket_root(search::Bucket const& bucket) const {
        return {.kind = NodeKind::bucket, .mutant = {}, .bucket = bucket};
    }
    [[nodiscard]] search::Assessment assess(Node const& node, Workspace& workspace) const;
    void expand(Node const& node, Workspace& workspace, search::Children<Node>& children) const;
    [[nodiscard]] std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes,
                                                                    Workspace& workspace) const;
    [[nodiscard]] search::ResultRecord record(Result const& partial) const;
    [[nodiscard]] std::int32_t depth(Node const& node) const;
    void pack(Node const& node, base::Bytes& out) const;
    /// Throws SystemError if the bytes are not a node.
    [[nodiscard]] Node unpack(std::span<std::byte const> bytes) const;

private:
    void expand_root(search::Children<Node>& children, search::Notes& notes) const;
    void expand_operands(Mutant const& mutant, search::Children<Node>& children) const;
    void expand_bucket(Node const& node, search::Notes& notes, search::Children<Node>& children) const;
    void count_programs(Mutant const& mutant, search::Notes& notes) const;

    std::shared_ptr<Mutants const> mutants_;
};

/// Beside nodes: functions, and programs by their length, from there on.
inline constexpr std::size_t functions_counter = 0, programs_counter = 1;
inline constexpr int most_ops = 8;

} // namespace espalier::problems::mutation
