#pragma once

#include "explorer.hpp"

#include "espalier/config/run_config.hpp"
#include "espalier/verify/compare.hpp"
#include "espalier/verify/proof.hpp"

#include <memory>
#include <unordered_map>

namespace espalier::problems::mugraph {

/// What is known of an algebraic form in a class of schedules, whatever its numbers: one check serves all of them.
struct FormCheck {
    verify::Comparison functions;  ///< with square roots as random functions, which has an error bound
    bool holds_with_roots = false; ///< with square roots that multiply as roots do; a proof must follow
};
using FormMemo = std::unordered_map<std::uint64_t, FormCheck>;

/// Decides whether complete programs are equal to the one that is searched. Const use is thread safe. Throws InputError
/// when made if a device is asked for and there is none.
class Verifier {
public:
    struct Verdict {
        bool is_decided = true;
        bool is_equal = false;
        bool is_proved = false;
        bool is_full_scope = false;
        double error_bound = 1;
        std::int64_t sampled_elements = 0;
        program::Graph graph; ///< with thread graphs
    };

    Verifier(Target const& target, Space const& space, config::VerifyConfig const& options, std::uint64_t seed);

    /// A cheap test on a shape other than that of the search; `outputs` are the kernel tensors put out.
    [[nodiscard]] bool holds_on_second_shape(Node const& node, std::vector<int> const& outputs,
                                             Explorer const& explorer) const;
    /// Everything: the form on a shrunk shape, the program at its real shape, and a proof.
    [[nodiscard]] Verdict verify(Node const& node, Explorer& explorer, FormMemo& forms) const;

private:
    [[nodiscard]] FormCheck const& check_form(Node const& node, std::vector<int> const& outputs,
                                              Explorer const& explorer, FormMemo& forms) const;
    [[nodiscard]] verify::CompareOptions options(int tests, field::Roots roots, std::int64_t max_elements = 0) const;

    Target const& target_;
    Space const& space_;
    config::VerifyConfig options_;
    std::uint64_t seed_;
    std::unique_ptr<verify::DeviceService>
        device_; ///< shared by all threads of the node; none: they evaluate themselves
    verify::Prover prover_;
    verify::Reference samples_; ///< the program at its real shape
    verify::Reference whole_;   ///< the same, every element
    double full_flops_ = 0;
};

} // namespace espalier::problems::mugraph
