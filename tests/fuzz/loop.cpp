// Drives the readers of one set of targets: `fuzz_text --inputs 1000000 --seed 7`. With a file, that input alone: its
// first line names the target (a crash leaves such a file behind as crash-input, in the current folder). Compiled with
// clang's -fsanitize=fuzzer (-DESPALIER_LIBFUZZER), libFuzzer drives the same readers.
#include "fuzz/mutator.hpp"
#include "fuzz/readers.hpp"

#include "espalier/base/error.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace espalier::fuzz {

void expect(bool holds, std::string_view law) {
    if (holds) return;
    std::fprintf(stderr, "fuzz: this does not hold: %.*s\n", static_cast<int>(law.size()), law.data());
    std::abort();
}

namespace {

std::vector<Target> targets() { return FUZZ_TARGETS(); }

void run(Target const& target, std::string const& input) {
    try {
        target.read(input);
    } catch (std::exception const& error) {
        std::fprintf(stderr, "fuzz: %.*s let an exception out: %s\n", static_cast<int>(target.name.size()),
                     target.name.data(), error.what());
        std::abort();
    }
}

/// Before it is read, so that it is there after a crash.
void keep(Target const& target, std::string const& input) {
    std::ofstream out("crash-input", std::ios::binary | std::ios::trunc);
    out << target.name << '\n' << input;
}

[[maybe_unused]] void run_file(char const* name) {
    std::ifstream in(name, std::ios::binary);
    std::string const text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    auto const end = text.find('\n');
    for (auto const& target : targets())
        if (target.name == text.substr(0, end)) run(target, text.substr(end + 1));
}

struct Options {
    std::size_t inputs = 10'000;
    std::uint64_t seed = 1;
    bool keeps = false;
};

class Loop {
public:
    explicit Loop(Options options) : options_(options), mutator_(options.seed) {}

    void run_all() {
        for (auto const& target : targets_)
            for (auto const& seed : target.seeds) run(target, seed);
        for (std::size_t i = 0; i < options_.inputs; ++i) run_one();
        std::printf("fuzz: %zu inputs, seed %llu, the slowest took %.3f s (%s)\n", options_.inputs,
                    static_cast<unsigned long long>(options_.seed), slowest_s_, std::string(slowest_).c_str());
    }

private:
    void run_one() {
        auto const& from = targets_[mutator_.below(targets_.size())];
        auto const& other = targets_[mutator_.below(targets_.size())];
        auto const& target = mutator_.below(16) == 0 ? other : from;
        auto const input = mutator_.mutate(any(from.seeds), any(other.seeds));
        if (options_.keeps) keep(target, input);
        auto const start = std::chrono::steady_clock::now();
        run(target, input);
        std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
        if (took.count() <= slowest_s_) return;
        slowest_s_ = took.count();
        slowest_ = target.name;
    }
    std::string const& any(std::vector<std::string> const& seeds) { return seeds[mutator_.below(seeds.size())]; }

    Options options_;
    Mutator mutator_;
    std::vector<Target> targets_ = targets();
    double slowest_s_ = 0;
    std::string_view slowest_;
};

Options options_of(std::vector<std::string_view> const& arguments) {
    Options options;
    for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
        auto const value = std::strtoull(std::string(arguments[i + 1]).c_str(), nullptr, 10);
        if (arguments[i] == "--inputs") options.inputs = value;
        if (arguments[i] == "--seed") options.seed = value;
        if (arguments[i] == "--keep") options.keeps = value != 0;
    }
    return options;
}

} // namespace
} // namespace espalier::fuzz

#ifdef ESPALIER_LIBFUZZER
/// The first byte chooses the reader.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static auto const all = espalier::fuzz::targets();
    if (size == 0) return 0;
    espalier::fuzz::run(all[data[0] % all.size()], std::string(reinterpret_cast<char const*>(data) + 1, size - 1));
    return 0;
}
#else
int main(int argc, char** argv) {
    std::vector<std::string_view> const arguments(argv + 1, argv + argc);
    if (arguments.size() == 1)
        espalier::fuzz::run_file(argv[1]);
    else
        espalier::fuzz::Loop(espalier::fuzz::options_of(arguments)).run_all();
    return 0;
}
#endif
