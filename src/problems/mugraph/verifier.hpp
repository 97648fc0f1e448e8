#pragma once

#include "explorer.hpp"

#include "espalier/config/run_config.hpp"
#include "espalier/verify/compare.hpp"
#include "espalier/verify/proof.hpp"
#include "espalier/verify/real.hpp"

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

namespace espalier::problems::mugraph {

/// What is known about an algebraic form in a class of schedules, whatever its numbers: one check serves all of them.
struct FormCheck {
    verify::Comparison functions;  ///< with square roots as random functions, which has an error bound
    bool holds_with_roots = false; ///< with square roots that multiply as roots do; a proof must follow
    bool holds_in_floats = false;  ///< nothing was found against it in floating point
};
/// Of a form of which no second shape divides: it has no bound, so a proof must follow.
[[nodiscard]] FormCheck unchecked_form();
/// What a shape other than that of the search says. None: no such shape divides, so the real one decides, and a proof
/// must follow; the search counts how often.
enum class SecondShape : std::uint8_t { passed, refuted, none };
using FormMemo = std::unordered_map<std::uint64_t, FormCheck>;

/// All that was found out about one program at its real shape.
struct Evidence {
    verify::Comparison sampled;                             ///< on sampled elements; of a small program on all
    std::optional<verify::Comparison> whole = std::nullopt; ///< of a small program: every element, with a bound
    bool has_roots = false;                                 ///< of which `whole` knows no law
    bool has_order = false; ///< a maximum, about which a draw says little: it needs a proof
    bool has_tails = false; ///< smaller last tiles, about which the form at another shape says nothing
    verify::Proof proof;
    bool holds_in_floats = true;
};
enum class Judgement : std::uint8_t { equal, refuted, refuted_in_floats, undecided };
/// Different always rejects; equal needs a proof, or a bound and that the program is defined wherever the input is.
[[nodiscard]] Judgement judge(FormCheck const& form, Evidence const& evidence);

/// Decides whether complete programs are equal to the one that is searched. Const use is thread safe. Throws InputError
/// when made if a device is asked for and there is none.
class Verifier {
public:
    struct Finding {
        Judgement judgement = Judgement::refuted;
        bool is_proved = false;
        bool is_full_scope = false;
        double error_bound = 1;
        std::int64_t sampled_elements = 0;
        program::Graph graph; ///< with thread graphs
    };

    struct Options {
        config::VerifyConfig config;
        std::uint64_t seed = 1;
        std::unique_ptr<verify::DeviceService> device; ///< none: threads evaluate themselves
    };
    Verifier(Target const& target, Space const& space, Options options);
    /// With the device that the experiment asks for.
    Verifier(Target const& target, Space const& space, config::VerifyConfig const& config, std::uint64_t seed);

    /// A cheap test on a shape other than that of the search; `outputs` are the kernel tensors that it outputs.
    [[nodiscard]] SecondShape try_second_shape(Node const& node, program::TensorIds const& outputs,
                                               Explorer const& explorer) const;
    /// Everything: the form on a shrunk shape, the program at its real shape, and a proof.
    [[nodiscard]] Finding verify(Node const& node, Explorer& explorer, FormMemo& forms) const;
    /// Finding i for node i, each what verify() says about it. A device gets the programs together. Throws Stopped if
    /// the run stops.
    [[nodiscard]] std::vector<Finding> verify_all(std::span<Node const> nodes, Explorer& explorer,
                                                  FormMemo& forms) const;

private:
    /// A candidate on its way.
    struct Draft {
        Finding verdict;
        std::optional<std::uint64_t> form_key = std::nullopt; ///< none: its outputs are not those of the input
        program::TensorIds outputs;
        bool is_taken_on_proof = false;  ///< at its real shape nothing but the proof says that it is equal
        FormCheck const* form = nullptr; ///< none: it is decided without looking at the program at its real shape
        Evidence evidence;
    };
    /// A form that was not met before, on a shrunk shape.
    struct OpenForm {
        std::uint64_t key = 0;
        program::Graph reference;
        program::Graph candidate;
        FormCheck check;
    };
    /// What is known about forms, and those that are to be checked together.
    struct Forms {
        FormMemo& known;
        std::vector<OpenForm> open;
    };
    [[nodiscard]] Draft draft(Node const& node, Explorer& explorer, Forms& forms) const;
    void add_form(Draft const& draft, Node const& path, Explorer const& explorer, Forms& forms) const;
    void check_forms(Forms& forms, base::StopToken stop) const;
    [[nodiscard]] std::vector<verify::Comparison> compare_forms(std::span<OpenForm* const> forms, field::Roots roots,
                                                                base::StopToken stop) const;
    void write_program(Draft& draft, Node const& node, FormMemo const& forms) const;
    void prove_first(Draft& draft, search::Notes& notes) const;
    void compare_all(std::span<Draft> drafts, base::StopToken stop) const;
    [[nodiscard]] Finding conclude(Draft draft, search::Notes& notes) const;
    [[nodiscard]] std::optional<verify::DeviceService::Expected> expected() const;
    [[nodiscard]] verify::Proof prove(program::Graph const& graph, search::Notes& notes) const;
    [[nodiscard]] verify::CompareOptions options(int tests, field::Roots roots, std::int64_t max_elements = 0) const;

    Target const& target_;
    Space const& space_;
    config::VerifyConfig options_;
    std::uint64_t seed_;
    std::unique_ptr<verify::DeviceService> device_; ///< shared by all threads of the node
    bool is_small_ = false;                         ///< compared whole, not on samples
    bool is_heavy_ = false;                         ///< samples take so long that a proof makes up for them
    verify::Prover prover_;
    verify::Reference samples_;    ///< the program at its real shape
    verify::Reference whole_;      ///< the same, every element, and with a bound
    verify::RealReference floats_; ///< the same, on sampled elements
};

} // namespace espalier::problems::mugraph
