#pragma once

#include "espalier/config/value.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::config {

class ConfigError;

/// Collects what is wrong with an experiment and shows all of it at once, in the order of the text.
class Diagnostics {
public:
    /// `origins` are those of the overrides: place.source - 1 is their index.
    Diagnostics(std::string name, std::string_view text, std::vector<std::string> origins = {});

    void error(Place place, std::string message);
    /// The report on another file, which is named at `place`.
    void add_report(Place place, ConfigError const& other);
    /// `4:3`, or the origin of an override.
    [[nodiscard]] std::string name_of(Place place) const;
    /// Where a path written at `place` starts: the folder of the file, or the current one for an override.
    [[nodiscard]] std::filesystem::path folder_of(Place place) const;
    /// Throws ConfigError.
    void throw_if_any() const;

private:
    struct Error {
        Place place;
        std::string message;
        int other_errors = 0; ///< not 0: the message is the whole report on another file
    };
    [[nodiscard]] std::string_view line_at(Place place) const;
    [[nodiscard]] std::string text_of(Error const& error) const;

    std::string name_;
    std::vector<std::string> lines_;
    std::vector<std::string> origins_;
    std::vector<Error> errors_;
    int more_errors_ = 0; ///< after the first `max_errors`
};

/// Where a reader is: the dotted key of the value at hand and where to report. A cheap value; borrows the diagnostics.
class Context {
public:
    explicit Context(Diagnostics& diagnostics, std::string key = {})
        : diagnostics_(&diagnostics), key_(std::move(key)) {}

    [[nodiscard]] Context in(std::string_view key) const;
    [[nodiscard]] Context item(std::size_t index) const;
    /// `'search.threads'`; of the whole file: `the experiment`.
    [[nodiscard]] std::string name() const;
    /// ` in 'search'`, empty for the whole file.
    [[nodiscard]] std::string inside() const;
    [[nodiscard]] std::string name_of(Place place) const { return diagnostics_->name_of(place); }
    [[nodiscard]] std::filesystem::path folder_of(Place place) const { return diagnostics_->folder_of(place); }
    void error(Place place, std::string message) const { diagnostics_->error(place, std::move(message)); }
    void add_report(Place place, ConfigError const& other) const { diagnostics_->add_report(place, other); }

private:
    Diagnostics* diagnostics_;
    std::string key_;
};

} // namespace espalier::config
