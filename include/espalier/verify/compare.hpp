#pragma once

#include "espalier/verify/device.hpp"
#include "espalier/verify/evaluate.hpp"

#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace espalier::verify {

enum class Verdict : std::uint8_t { equal, different, undecided };

struct CompareOptions {
    int tests = 4; ///< independent draws
    std::uint64_t seed = 1;
    field::Roots roots = field::Roots::power;
    std::int64_t max_elements = 0;   ///< of an output, in one test (see sample()); 0: every element
    DeviceService* device = nullptr; ///< evaluates candidates; none: the calling thread does
};

struct Comparison {
    Verdict verdict = Verdict::undecided;
    int tests = 0;             ///< that were made
    std::int64_t elements = 0; ///< of outputs, compared in each test
    double error_bound = 1;    ///< that all tests pass although a compared element differs; see error_bound()
    std::string reason;

    bool operator==(Comparison const&) const = default;
};

/// A program that others are compared with; evaluates itself once a draw. Thread safe.
class Reference {
public:
    /// Throws InputError if the graph is not legal.
    Reference(program::Graph graph, CompareOptions const& options);
    /// Whether the candidate gives the same outputs on random inputs. A zero divisor in either: draws again a few
    /// times, else undecided. Throws InputError if the candidate is not legal, Stopped if the run stops meanwhile.
    [[nodiscard]] Comparison compare(program::Graph const& candidate, base::StopToken stop = {}) const;
    /// Comparison i for candidate i, each what compare() says. A device gets the next test of all of them at once.
    [[nodiscard]] std::vector<Comparison> compare_all(std::span<program::Graph const* const> candidates,
                                                      base::StopToken stop = {}) const;
    /// The same of candidates with a reference each; all of these have the same device.
    struct Pairing {
        Reference const* reference = nullptr;
        program::Graph const* candidate = nullptr;
    };
    [[nodiscard]] static std::vector<Comparison> compare_all(std::span<Pairing const> pairings,
                                                             base::StopToken stop = {});

    [[nodiscard]] program::Graph const& graph() const { return graph_; }

private:
    struct Sample {
        std::vector<Demand> demands;
        Draw draw;
        Evaluation values;
    };
    /// Which draw: test, how often it was drawn again, and with which parts.
    struct Key {
        int test = 0;
        int redraw = 0;
        Exponents exponents{};
        auto operator<=>(Key const&) const = default;
    };
    class Trial;
    static bool take_round(std::deque<Trial>& trials, DeviceService& device);
    [[nodiscard]] Sample const& sample_of(Key const& key, base::StopToken stop) const;
    [[nodiscard]] Sample make_sample(Key const& key, base::StopToken stop) const;
    [[nodiscard]] std::int64_t elements_of(std::vector<Demand> const& demands) const;
    [[nodiscard]] std::string mismatch(program::Graph const& candidate) const;

    program::Graph graph_;
    CompareOptions options_;
    std::vector<program::Shape> shapes_; ///< of outputs
    mutable std::mutex mutex_;
    mutable std::map<Key, Sample> samples_;
};

/// Are two programs with equal inputs and outputs equal on random inputs? One comparison; for many, keep a Reference.
[[nodiscard]] Comparison compare(program::Graph const& reference, program::Graph const& candidate,
                                 CompareOptions const& options, base::StopToken stop = {});

} // namespace espalier::verify
