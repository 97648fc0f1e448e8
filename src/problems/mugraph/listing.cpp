#include "espalier/problems/mugraph/listing.hpp"

#include "code.hpp"
#include "stored_record.hpp"
#include "told_numerics.hpp"

#include "espalier/base/system.hpp"
#include "espalier/program/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace espalier::problems::mugraph {
namespace {

using base::Json;

std::string counted(std::size_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}
std::size_t at_most(std::size_t top, std::size_t count) { return top == 0 ? count : std::min(top, count); }

/// Forms that are not slower than the input come first.
struct Worth {
    std::vector<Form> forms;
    std::size_t slower = 0; ///< how many are left out
};
/// Measured times decide, where there are some.
bool is_slower(search::ResultRecord const& record, double input_us) {
    auto const times = times_of(record);
    return times && times->ms > 0 ? times->is_slower() : record.cost > input_us;
}
Worth worth_a_row(Records const& list, double input_us) {
    Worth out{forms_of(list)};
    out.slower = std::erase_if(out.forms, [&](Form const& form) { return is_slower(list[form.best], input_us); });
    return out;
}

/// A program of the list, and the number of schedules of which it is the best; 0: it stands for itself.
struct Row {
    std::size_t place = 0;
    std::size_t schedules = 0;
};

std::string bound_text(search::ResultRecord const& record) {
    if (record.verification == search::Verification::proved) return "0";
    if (record.error_bound >= 1) return "none";
    return fmt::format("2^{:.0f}", std::floor(std::log2(record.error_bound)) + 1);
}

std::string best_measured(Records const& list);

/// Rows of equal columns; only rows of forms say how many schedules they stand for.
class Table {
public:
    Table(MugraphConfig const& config, Records const& list)
        : config_(config), list_(list), input_(program::build(config.program)), input_us_(input_cost(config)) {}

    [[nodiscard]] std::string text(std::vector<Row> const& rows) {
        auto const has_schedules = !rows.empty() && rows.front().schedules > 0;
        for (auto const& row : rows) note(times_of(list_[row.place]));
        auto out = fmt::format(
            "\n{:>6} {:>10} {:>9}{} {:>8} {:>6}{} {:>13} {:>9} {:>12} {:>9}  {}\n", "rank", "cost us", "speed-up",
            measured_ ? fmt::format(" {:>32} {:>8}", "measured ms", "speed-up") : "", "kernels", "loop",
            has_schedules ? " schedules" : "", "rel. error", "verified", "error bound", "found s", "key");
        auto const input = input_line(has_schedules ? 10 : 0);
        for (auto const& row : rows) out += line(row);
        return out + input;
    }
    [[nodiscard]] std::string about() const {
        return fmt::format("costs are estimates for {}, not measurements\n", machine_told(config_)) + about_measured() +
               about_errors(input_.dtype) + best_measured(list_);
    }

private:
    /// Remembers a measured program, for the line that says where and how the table was measured.
    void note(std::optional<StoredTimes> const& times) {
        if (times && !measured_) measured_ = times;
        if (times && times->ms > 0 && measured_->ms == 0) measured_ = times;
    }
    [[nodiscard]] std::string about_measured() const {
        if (!measured_) return {};
        return fmt::format(
            "measured on {}, {}: medians with 95 % intervals, and the speed-up over the input, which was "
            "measured in turns with the program\n",
            measured_->machine, counted(static_cast<std::size_t>(measured_->threads), "thread"));
    }
    /// Empty if nothing in the table was measured.
    [[nodiscard]] std::string measured_cells(std::optional<StoredTimes> const& times) const {
        if (!measured_) return {};
        if (!times || times->ms == 0) return fmt::format(" {:>32} {:>8}", times ? times->verdict : "", "");
        auto const interval = fmt::format("{:.4g} ({:.4g} to {:.4g})", times->ms, times->low, times->high);
        return fmt::format(" {:>32} {:>7.2f}x", interval, times->speedup());
    }
    [[nodiscard]] std::string line(Row const& row) {
        auto const& record = list_[row.place];
        auto const graph = graph_of(record);
        auto const schedules = row.schedules > 0 ? fmt::format(" {:>9}", row.schedules) : "";
        return fmt::format("{:>6} {:>10.2f} {:>8.2f}x{} {:>8} {:>6}{} {:>13} {:>9} {:>12} {:>9.2f}  {:016x}\n",
                           row.place + 1, record.cost, input_us_ / record.cost, measured_cells(times_of(record)),
                           program::kernel_count(graph), program::largest_loop(graph), schedules,
                           error_text(numerics_.next(graph)), search::name(record.verification), bound_text(record),
                           record.found_s, record.key);
    }
    /// `skipped`: the width of columns that it has nothing for.
    [[nodiscard]] std::string input_line(int skipped) {
        auto const cells =
            measured_ ? fmt::format(" {:>32} {:>8}", fmt::format("{:.4g}", measured_->input_ms), "") : "";
        return fmt::format("{:>6} {:>10.2f} {:>8.2f}x{} {:>8} {:>{}} {:>13}\n", "input", input_us_, 1.0, cells,
                           program::kernel_count(input_), "", 6 + skipped, error_text(numerics_.next(input_)));
    }

    MugraphConfig const& config_;
    Records const& list_;
    program::Graph input_;
    double input_us_;
    std::optional<StoredTimes> measured_{}; ///< one of the table, if there is one
    NumericsOfList numerics_;
};

/// The last line: what measuring found.
std::string best_measured(Records const& list) {
    auto const times = times_of(list.front());
    if (!times || times->ms == 0) return {};
    auto const where = times->host == base::host_name() ? "on this machine" : "on " + times->host;
    if (!times->is_faster())
        return fmt::format("no program that was measured is faster than the input beyond the noise {}\n", where);
    return fmt::format("program 1 is {:.2f}x as fast as the input {} ({:.4g} ms instead of {:.4g} ms)\n",
                       times->speedup(), where, times->ms, times->input_ms);
}

std::string nothing_faster(Records const& list, double input_us) {
    auto const is_one = list.size() == 1;
    return fmt::format("{} slower than the input ({:.2f} us; the best takes {:.2f} us): --all lists {}",
                       is_one ? "the only program is" : fmt::format("all {} programs are", list.size()), input_us,
                       list.front().cost, is_one ? "it" : "them");
}
std::string left_out(std::size_t slower) {
    return fmt::format("{} {} slower than the input (--all lists {})", counted(slower, "form"),
                       slower == 1 ? "is" : "are", slower == 1 ? "it" : "them");
}

} // namespace

std::vector<Form> forms_of(Records const& list) {
    std::vector<Form> forms;
    std::unordered_map<std::uint64_t, std::size_t> places;
    for (std::size_t i = 0; i < list.size(); ++i) {
        auto const key = form_of(list[i]);
        auto const [found, is_new] = places.try_emplace(key, forms.size());
        if (is_new) forms.push_back({.key = key, .best = i});
        ++forms[found->second].schedules;
    }
    return forms;
}

Json forms_json(Records const& list) {
    auto out = Json::array();
    for (auto const& form : forms_of(list))
        out.push_back(
            {{"form", key_text(form.key)}, {"schedules", form.schedules}, {"best", key_text(list[form.best].key)}});
    return out;
}

Records worth_measuring(Records const& list, std::size_t top) {
    std::vector<std::size_t> order;
    for (auto const& form : forms_of(list)) order.push_back(form.best);
    std::vector<bool> is_best(list.size());
    for (auto const i : order) is_best[i] = true;
    for (std::size_t i = 0; i < list.size(); ++i)
        if (!is_best[i]) order.push_back(i);
    Records out;
    for (std::size_t i = 0; i < std::min(top, order.size()); ++i)
        if (!times_of(list[order[i]])) out.push_back(list[order[i]]);
    return out;
}

Listing listed(MugraphConfig const& config, Records const& list, std::size_t top) {
    Listing out{Json::array(), {}};
    if (list.empty()) return out;
    auto const [forms, slower] = worth_a_row(list, input_cost(config));
    if (forms.empty()) return {out.rows, nothing_faster(list, input_cost(config))};
    auto const shown = at_most(top, forms.size());
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < shown; ++i) places.push_back(forms[i].best);
    out.rows = results_json(config, list, places);
    for (std::size_t i = 0; i < shown; ++i) out.rows[i]["schedules"] = forms[i].schedules;
    out.note = fmt::format("The best schedule of {} algebraic form{}; {} in all", shown, shown == 1 ? "" : "s",
                           counted(list.size(), "program"));
    if (slower > 0) out.note += "; " + left_out(slower);
    return out;
}

std::string results_text(MugraphConfig const& config, Records const& list, std::size_t top) {
    if (list.empty()) return {};
    auto const [forms, slower] = worth_a_row(list, input_cost(config));
    if (forms.empty()) return fmt::format("\n{}\n", nothing_faster(list, input_cost(config))) + best_measured(list);
    auto const shown = at_most(top, forms.size());
    std::vector<Row> rows;
    for (std::size_t i = 0; i < shown; ++i) rows.push_back({forms[i].best, forms[i].schedules});
    Table table(config, list);
    auto out = table.text(rows);
    if (shown < forms.size())
        out += fmt::format("{:>6} {} (--top {} shows all)\n", "", counted(forms.size() - shown, "more form"),
                           forms.size());
    if (slower > 0) out += fmt::format("{:>6} {}\n", "", left_out(slower));
    return out + table.about();
}

std::string all_results_text(MugraphConfig const& config, Records const& list, std::size_t top) {
    if (list.empty()) return {};
    auto const shown = at_most(top, list.size());
    std::vector<Row> rows;
    for (std::size_t i = 0; i < shown; ++i) rows.push_back({i});
    Table table(config, list);
    auto out = table.text(rows);
    if (shown < list.size())
        out += fmt::format("{:>6} {} more (--top {} shows all)\n", "", list.size() - shown, list.size());
    return out + table.about();
}

} // namespace espalier::problems::mugraph
