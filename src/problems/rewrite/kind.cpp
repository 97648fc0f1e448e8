#include "espalier/problems/rewrite/kind.hpp"

#include "optimize.hpp"
#include "stored.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/hash.hpp"
#include "espalier/base/key_error.hpp"
#include "espalier/model/onnx.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

namespace espalier::problems::rewrite {
namespace {

std::string text_of_bytes(base::Bytes const& bytes) {
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

class Stored final : public StoredResults {
public:
    explicit Stored(StoredRun run) : StoredResults(std::move(run)), list_(ranked_variants(this->run().results)) {}

    [[nodiscard]] base::Json summary() const override { return summary_json(run()); }
    [[nodiscard]] CostInfo cost() const override {
        auto const told = summary();
        auto const is_measured = told["cost_source"] == "measured";
        return {.unit = "ms",
                .source = is_measured ? search::CostSource::measured : search::CostSource::estimated,
                .noise = told["noise"].get<double>(),
                .about = is_measured
                             ? "Times are medians of the back end, input and result in turns."
                             : "Times are estimates from flops and bytes; without a back end nothing was measured.",
                .input = told["cost_before"].get<double>()};
    }
    [[nodiscard]] search::Known known(search::ResultRecord const& record) const override {
        auto const variant = unpack_variant(record.payload);
        return {.verified = record.verification,
                .executed = !variant.is_measured()    ? search::Executed::no
                            : variant.problem.empty() ? search::Executed::within_tolerance
                                                      : search::Executed::wrong,
                .cost_source = variant.is_measured() ? search::CostSource::measured : search::CostSource::estimated};
    }
    [[nodiscard]] std::string advice() const override {
        auto const told = summary();
        if (run().status != "complete") return {};
        if (told["rewrites"] != 0) return {};
        return "Nothing better than the input was found: `optimize` writes it unchanged.";
    }
    [[nodiscard]] std::vector<Column> columns() const override {
        return {{"id", "id"},
                {"key", "key"},
                {"what", "what"},
                {"rewrites", "rewrites"},
                {"nodes", "nodes"},
                {"before_ms", "before", "ms"},
                {"after_ms", "after", "ms"},
                {"speedup", "speed-up"},
                {"noise", "noise"},
                {"error", "error"},
                {"verified", "verified"},
                {"problem", "problem"}};
    }
    [[nodiscard]] base::Json results(std::size_t top) const override {
        auto out = base::Json::array();
        for (auto const& [record, variant] : list_) {
            if (top > 0 && out.size() >= top) break;
            out.push_back({{"id", out.size() + 1},
                           {"key", fmt::format("{:016x}", record.key)},
                           {"what", what(variant)},
                           {"rewrites", variant.rewrites},
                           {"nodes", variant.nodes},
                           {"before_ms", variant.before_ms},
                           {"after_ms", variant.after_ms},
                           {"speedup", variant.before_ms / variant.after_ms},
                           {"noise", variant.noise},
                           {"error", variant.error},
                           {"backend", variant.backend},
                           {"backend_error", variant.backend_error},
                           {"problem", variant.problem},
                           {"steps", variant.steps},
                           {"verified", search::name(record.verification)}});
        }
        return out;
    }
    [[nodiscard]] std::string results_text(std::size_t top) const override {
        auto out = model_text();
        if (list_.empty()) return out;
        out += fmt::format("{:>4}  {:16}  {:12}  {:>8}  {:>10}  {:>10}  {:>9}  {}\n", "id", "key", "what", "rewrites",
                           "before ms", "after ms", "speed-up", "");
        for (auto const& row : results(top))
            out += fmt::format("{:>4}  {}  {:12}  {:>8}  {:>10.4g}  {:>10.4g}  {:>8.3f}x  {}\n",
                               row["id"].get<std::size_t>(), row["key"].get<std::string>(),
                               row["what"].get<std::string>(), row["rewrites"].get<std::size_t>(),
                               row["before_ms"].get<double>(), row["after_ms"].get<double>(),
                               row["speedup"].get<double>(), row["problem"].get<std::string>());
        return out;
    }
    [[nodiscard]] std::string title(base::Json const& result) const override {
        return fmt::format("{}: {}, {} rewrites, {:.3f}x", result.at("id").get<std::size_t>(),
                           result.at("what").get<std::string>(), result.at("rewrites").get<std::size_t>(),
                           result.at("speedup").get<double>());
    }
    [[nodiscard]] std::vector<Format> formats() const override { return result_formats(); }
    [[nodiscard]] static std::vector<Format> result_formats() {
        return {{"text", "what was rewritten where, by which rule"},
                {"json", "for scripts"},
                {"svg", "a drawing of what is rewritten, before and after"}};
    }
    [[nodiscard]] std::string one(std::size_t id, std::string const& format) const override {
        if (format == "json") return results(0)[id - 1].dump(2) + "\n";
        auto const& [record, variant] = list_[id - 1];
        if (format == "svg") return drawing(plan_of(own()), variant);
        return record.text;
    }
    [[nodiscard]] std::string whole(std::string const&) const override {
        return text_of_bytes(model::to_onnx(output_model(run())));
    }
    [[nodiscard]] std::vector<search::ResultRecord> ranked() const override {
        std::vector<search::ResultRecord> out;
        for (auto const& one : list_) out.push_back(one.record);
        return out;
    }
    void check_keys() const override {
        for (auto const& [record, variant] : list_)
            if (record.key != key_of(variant) || record.text != variant_text(variant))
                throw base::InputError("result {:016x}: its text is not that of its rewrites: the run was changed",
                                       record.key);
    }
    void recheck(std::uint64_t seed, Scope, std::function<void(Recheck const&)> const& visit) const override {
        auto const plan = plan_of(own());
        Folder folder;
        std::size_t id = 0;
        for (auto const& [record, variant] : list_) {
            auto const whole = plan.whole(variant.choices, folder, {.seed = seed + id, .is_checked = true}, {});
            visit({++id, record.key, whole.problem.empty(), record.verification == search::Verification::proved, 0,
                   record.error_bound, whole.problem});
        }
    }
    [[nodiscard]] std::string claim(Scope) const override {
        return "equal to the input in float64, part by part, on fresh inputs";
    }

private:
    [[nodiscard]] RewriteConfig const& own() const { return run().config.problem.as<RewriteConfig>(); }
    [[nodiscard]] static std::string what(Variant const& variant) {
        return variant.is_whole ? std::string("model") : fmt::format("part {}", variant.choices.front().family + 1);
    }
    /// `  model       128 nodes, 120 understood; opaque: 8 Resize`.
    [[nodiscard]] std::string model_text() const {
        auto const told = summary();
        std::string opaque;
        for (auto const& [op, count] : told["opaque_ops"].items())
            opaque += fmt::format("{}{} {}", opaque.empty() ? "; opaque: " : ", ", count.get<std::uint64_t>(), op);
        auto out = fmt::format("  model       {}: {} nodes, {} understood{}\n", own().model,
                               told["nodes"].get<std::uint64_t>(), told["understood"].get<std::uint64_t>(), opaque);
        auto const before = told["cost_before"].get<double>(), after = told["cost_after"].get<double>();
        out +=
            fmt::format("  answer      {} rewrites, {} nodes; {:.4g} ms before, {:.4g} ms after ({}{})\n",
                        told["rewrites"].get<std::uint64_t>(), told["nodes_after"].get<std::uint64_t>(), before, after,
                        told["cost_source"].get<std::string>(),
                        told["noise"].get<double>() > 0 ? fmt::format(", +-{:.1f} %", 100 * told["noise"].get<double>())
                                                        : std::string());
        if (told["rewrites"] != 0)
            out += fmt::format("  error       {:.1e} of the largest output in float64, weights rounded{}\n",
                               told["error"].get<double>(),
                               told["cost_source"] == "measured"
                                   ? fmt::format("; {:.1e} on the back end", told["backend_error"].get<double>())
                                   : std::string());
        return out;
    }

    std::vector<StoredVariant> list_;
};

class RewriteKind final : public Kind {
public:
    [[nodiscard]] config::ProblemSection const& section() const override { return problem_section(); }
    [[nodiscard]] config::RunConfig prepared(config::RunConfig config, Preparing const&) const override {
        auto own = config.problem.as<RewriteConfig>(); // a stored run keeps what it began with: its identity differs
        own.digest = digest_of(own.model);
        if (!own.rules.empty()) own.rules_digest = digest_of(own.rules);
        config.problem = problem_section().hold(own);
        return config;
    }
    [[nodiscard]] std::unique_ptr<search::AnyProblem> make(config::RunConfig const& config) const override {
        auto const& own = config.problem.as<RewriteConfig>();
        try {
            return search::erase(Rewrite(own, config.search.seed));
        } catch (base::KeyError const&) {
            throw;
        } catch (base::InputError const& error) {
            throw base::KeyError("problem.model", error.what());
        }
    }
    [[nodiscard]] std::unique_ptr<StoredResults> open(StoredRun run) const override {
        return std::make_unique<Stored>(std::move(run));
    }
    [[nodiscard]] std::vector<Format> formats() const override { return Stored::result_formats(); }
    [[nodiscard]] Offers offers() const override {
        return {.run_formats = {{"onnx", "the model, rewritten; the input where nothing better was found"}}};
    }
    [[nodiscard]] std::vector<Command> commands() const override { return {optimize_command()}; }
};

} // namespace

Kind const& kind() {
    static RewriteKind const one;
    return one;
}

} // namespace espalier::problems::rewrite
