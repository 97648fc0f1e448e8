#include "caches.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace espalier::codegen {
namespace {

std::string word_in(std::filesystem::path const& file) {
    std::ifstream in(file);
    std::string word;
    in >> word;
    return word;
}

/// `32768K`; 0 if it is something else.
std::uint64_t bytes_in(std::filesystem::path const& file) {
    auto const word = word_in(file);
    if (word.empty() || !std::isdigit(static_cast<unsigned char>(word[0]))) return 0;
    auto const number = std::strtoull(word.c_str(), nullptr, 10);
    return word.back() == 'M' ? number << 20 : word.back() == 'K' ? number << 10 : number;
}

/// By level and by the cores that share it.
using Sizes = std::map<int, std::map<std::string, std::uint64_t>>;

void add_caches_of(int core, Sizes& sizes) {
    for (int index = 0; index < 8; ++index) {
        auto const folder =
            std::filesystem::path(fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}", core, index));
        if (!std::filesystem::exists(folder)) return;
        auto const bytes = bytes_in(folder / "size");
        if (word_in(folder / "type") == "Instruction" || bytes == 0) continue;
        sizes[std::atoi(word_in(folder / "level").c_str())][word_in(folder / "shared_cpu_list")] = bytes;
    }
}

Sizes all_sizes() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    Sizes sizes;
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) return sizes;
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &mask)) add_caches_of(core, sizes);
    return sizes;
}

constexpr Caches usual{.last_bytes = 16u << 20, .near_bytes = 1u << 20};

} // namespace

Caches this_machines_caches() {
    auto const sizes = all_sizes();
    if (sizes.empty()) return usual;
    Caches out;
    for (auto const& [who, bytes] : sizes.rbegin()->second) out.last_bytes += bytes;
    auto const second = sizes.find(2);
    out.near_bytes = second != sizes.end() ? second->second.begin()->second : usual.near_bytes;
    out.near_bytes = std::max<std::uint64_t>(out.near_bytes, 64u << 10);
    out.last_bytes = std::max(out.last_bytes, out.near_bytes);
    return out;
}

} // namespace espalier::codegen
