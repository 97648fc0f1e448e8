#include "espalier/problems/uts/uts_config.hpp"

#include <array>

namespace espalier::problems::uts {
namespace {

using enum TreeType;
using enum TreeShape;

// The sample trees of UTS 2.1; what a row leaves out is that benchmark's default.
constexpr std::array trees{
    NamedTree{"T1", {.type = geometric, .shape = fixed, .b = 4, .depth = 10, .seed = 19}},
    NamedTree{"T2", {.type = geometric, .shape = cyclic, .b = 6, .depth = 16, .seed = 502}},
    NamedTree{"T3", {.type = binomial, .b = 2000, .q = 0.124875, .m = 8, .seed = 42}},
    NamedTree{"T4", {.type = hybrid, .shape = linear, .b = 6, .depth = 16, .q = 0.234375, .m = 4, .seed = 1}},
    NamedTree{"T5", {.type = geometric, .shape = linear, .b = 4, .depth = 20, .seed = 34}},
    NamedTree{"T1L", {.type = geometric, .shape = fixed, .b = 4, .depth = 13, .seed = 29}},
    NamedTree{"T3L", {.type = binomial, .b = 2000, .q = 0.200014, .m = 5, .seed = 7}},
};

} // namespace

std::span<NamedTree const> named_trees() { return trees; }

} // namespace espalier::problems::uts
