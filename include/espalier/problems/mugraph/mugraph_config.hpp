#pragma once

#include "espalier/config/hardware_config.hpp"
#include "espalier/config/problem_section.hpp"
#include "espalier/program/source.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace espalier::problems::mugraph {

/// Which programs are searched. 0, an empty list and an empty optional are `auto` in YAML: what `from` and the program
/// at hand make of it, which the problem decides.
struct SpaceConfig {
    enum class Preset { mirage, full };
    enum class Setting { automatic, plain, attention, lora };
    enum class Schedules { automatic, all, best };

    Preset from = Preset::full;
    Setting setting = Setting::automatic;    ///< special cases of the mirage space
    std::int32_t max_kernel_ops = 0;         ///< mirage: 5
    std::int32_t max_block_ops = 0;          ///< per block graph; mirage: 9
    std::int32_t max_graph_kernels = 0;      ///< mirage: 1, with attention 2
    std::int32_t max_outputs = 0;            ///< of a graph-defined kernel; mirage: 2
    std::optional<bool> count_inputs;        ///< do the limits of ops count inputs; mirage: yes
    std::vector<std::int64_t> loops;         ///< ranges of for-loops besides 1; mirage: 4, 16, 64; full: every divisor
    std::int64_t max_loop = 0;               ///< with `loops` auto
    std::vector<std::int64_t> tiles;         ///< sizes that a grid leaves of a dimension; mirage: 8, 16, .. 256
    std::int64_t min_blocks = 0;             ///< mirage: 32
    std::int64_t max_blocks = 0;             ///< mirage: 4096
    std::int32_t grid_dims = 0;              ///< axes of a grid; mirage: 1, with attention 3
    std::uint64_t shared_memory_bytes = 0;   ///< per block; mirage: 96 KiB; full: what the hardware has
    std::int64_t threads = 0;                ///< per block; 128
    std::optional<bool> liveness;            ///< a tile frees its memory after its last reader; mirage: no
    std::vector<program::OpCode> kernel_ops; ///< besides graph-defined kernels
    std::vector<program::OpCode> block_ops;
    Schedules schedules = Schedules::automatic; ///< of a form: all, or the cheapest; full: best

    std::optional<bool> unsafe_softmax; ///< also exp(x) where the program has only exp(x - max(x)); no

    bool operator==(SpaceConfig const&) const = default;
};

/// What drops a prefix whose abstract expression is not a subexpression of the target.
enum class Prune { native, z3, both, none };

struct MugraphConfig {
    program::Source program; ///< always filled in, checked
    std::string builtin;     ///< name as written, empty for a program of ops; then `sizes` are those of all its keys
    std::vector<std::int64_t> sizes;
    SpaceConfig space;
    Prune prune = Prune::native;
    config::HardwareConfig hardware = config::default_hardware();

    bool operator==(MugraphConfig const&) const = default;
};

/// `kind: mugraph` in an experiment.
[[nodiscard]] config::ProblemSectionOf<MugraphConfig> const& problem_section();

} // namespace espalier::problems::mugraph
