#pragma once

#include "espalier/analysis/analysis.hpp"

namespace espalier::analysis::report {

/// A result with its picture, as its problem draws it.
struct Drawing {
    std::string title; ///< `1: 3.2 us, 1 kernel`
    std::string svg;   ///< empty: none
    std::string text;  ///< readable form
};

/// All that a page shows. Null or empty parts are left out, and the page says why.
struct Contents {
    RunSummary const& summary;
    base::Json run;     ///< analysis::summary_json with the problem's own numbers
    base::Json results; ///< the best results, an array of flat objects, the best first
    base::Json input;   ///< what they are compared with, a flat object with the same keys, or null
    std::vector<Drawing> drawings;
    std::string funnel;              ///< the problem's own telling of it
    Analysis const* trace = nullptr; ///< null: there is no trace
    std::string trace_note;          ///< why there is none
    base::Json scaling;              ///< scaling::to_json, or null
    std::string scaling_note;        ///< why there is none
};

/// One self-contained page: no other file, no network. Text of the run can not become markup or script.
[[nodiscard]] std::string page(Contents const& contents);

} // namespace espalier::analysis::report
