#pragma once

#include "espalier/analysis/analysis.hpp"
#include "espalier/search/funnel.hpp"

namespace espalier::analysis::report {

/// A result with its picture, as its problem draws it.
struct Drawing {
    std::string title; ///< `1: 3.2 us, 1 kernel`
    std::string svg;   ///< empty: none
    std::string text;  ///< readable form
};

/// What the costs of results are.
struct Cost {
    std::string unit;   ///< empty: there are none
    std::string source; ///< estimated, simulated or measured
    std::string about;  ///< a sentence
    std::optional<double> input = {};
    double noise = 0; ///< of measured ones, relative; 0: not known
};

/// A key of a result, as a column.
struct ResultColumn {
    std::string key; ///< `a.b`: what `b` is in the object `a`
    std::string title;
    std::string unit;
};

/// All that a page shows. Null or empty parts are left out, and the page says why.
struct Contents {
    RunSummary const& summary;
    base::Json run;        ///< analysis::summary_json with the problem's own numbers
    base::Json results;    ///< the best results, an array of objects, the best first
    std::string list_note; ///< which ones these are; empty: simply the best
    base::Json input;      ///< what they are compared with, an object with the same keys, or null
    std::vector<Drawing> drawings;
    Cost cost;
    std::string known;                 ///< of all results, in words
    std::vector<ResultColumn> columns; ///< of results, in this order
    search::Funnel funnel;             ///< empty: nodes and reasons of pruning
    std::string advice;                ///< a sentence below it
    Analysis const* trace = nullptr;   ///< null: there is no trace
    std::string trace_note;            ///< why there is none
    base::Json scaling;                ///< scaling::to_json, or null
    std::string scaling_note;          ///< why there is none
};

/// One self-contained page: no other file, no network. Text of the run cannot become markup or script.
[[nodiscard]] std::string page(Contents const& contents);

} // namespace espalier::analysis::report
