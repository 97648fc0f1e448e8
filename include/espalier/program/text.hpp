#pragma once

#include "espalier/program/graph.hpp"

#include <string>
#include <string_view>

namespace espalier::program {

/// A program for people, all levels of it:
///
///     program f16
///       X = input [2, 4096]
///       W = input [4096, 6144]
///       t2 = kernel grid [96] loop 64 threads 128 {   # [2, 6144]
///         x = tile X (loop: 1)                        # [2, 64]
///         w = tile W (grid x: 1, loop: 0)             # [64, 64]
///         t2 = matmul x w                             # [2, 64]
///         t3 = accumulate t2                          # [2, 64]
///         t4 = accumulate_rms x (axis: -1)            # [2, 1]
///         t5 = div t3 t4                              # [2, 64]
///         store t5 (grid x: 1)
///       }
///       output t2
///
/// A number after a grid axis or the loop is the dimension that it splits. Thread graphs are `thread { }`, with `load`
/// and `store`. Comments are for the reader only. The graph must be one that infer() accepts.
[[nodiscard]] std::string to_text(Graph const& graph);

/// What to_text wrote, or a person in the same language: parse_text(to_text(graph)) == graph if the bodies of the graph
/// are numbered in the order of their ops. `name` is that of the file, for messages. Throws InputError with everything
/// that is wrong, each with line, column, the line itself and a mark below it.
[[nodiscard]] Graph parse_text(std::string_view text, std::string_view name);

} // namespace espalier::program
