#pragma once

#include "espalier/analysis/report/report.hpp"

#include "samples.hpp"

#include <gmock/gmock.h>

/// What tests of the page share: parts of it, and a page of a made-up run.
namespace espalier::analysis::report {

using base::Json;
using testing::HasSubstr;
using testing::Not;

inline std::size_t count(std::string const& text, std::string_view what) {
    std::size_t found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++found;
    return found;
}

/// Between the two texts, which are there.
inline std::string between(std::string const& text, std::string_view from, std::string_view to) {
    auto const start = text.find(from);
    EXPECT_NE(start, std::string::npos) << from;
    auto const end = text.find(to, start + from.size());
    EXPECT_NE(end, std::string::npos) << to;
    return text.substr(start + from.size(), end - start - from.size());
}

/// As a browser finds it: up to the first end tag, whatever it is in.
inline std::string raw_data(std::string const& html) {
    return between(html, "<script type=\"application/json\" id=\"data\">", "</script");
}
inline Json data(std::string const& html) { return Json::parse(raw_data(html)); }

inline std::string section(std::string const& html, std::string const& id) {
    return between(html, "<section id=\"" + id + "\"", "</section>");
}

class Page : public testing::Test {
protected:
    [[nodiscard]] Contents full() const { return samples::contents(summary_, trace_); }
    RunSummary summary_ = samples::summary();
    Analysis trace_ = samples::trace(3);
};

} // namespace espalier::analysis::report
