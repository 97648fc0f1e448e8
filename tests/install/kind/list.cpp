#include "kind.hpp"

#include "espalier/app/app.hpp"
#include "espalier/problems/kinds.hpp"

#include <array>

std::span<espalier::problems::Kind const* const> espalier::problems::kinds() {
    static std::array<Kind const*, 1> const list{&subset_sum::kind()};
    return list;
}

int main(int argc, char** argv) { return espalier::app::run(argc, argv); }
