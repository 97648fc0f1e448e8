#pragma once

#include "espalier/base/error.hpp"
#include "espalier/base/json.hpp"
#include "espalier/config/run_config.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::config {

/// All that is wrong with an experiment, one text for people: `file:line:col: error: ...` with source line and caret.
class ConfigError : public base::InputError {
public:
    ConfigError(std::string const& report, int errors) : InputError(report), errors_(errors) {}
    [[nodiscard]] int errors() const { return errors_; }

private:
    int errors_;
};

/// A value that comes after the file: `search.threads` = `2`, from `--set` or from a flag that is named in messages.
struct Override {
    enum class Form { yaml, literal };

    std::string key;
    std::string value;
    std::string origin;     ///< e.g. `--set search.threads=x` or `--max-time 3h`
    Form form = Form::yaml; ///< `literal`: one scalar as it stands, whatever YAML would make of it
};
/// Splits `key=value`. Throws InputError.
[[nodiscard]] Override parse_override(std::string_view text);

/// Called last, once all keys are good: may refuse by an InputError. A KeyError is shown at the place of its key, or of
/// the nearest written key around it; any other at `problem`.
using Accept = std::function<void(RunConfig const&)>;

/// Reads experiments about these kinds of problems.
class Experiments {
public:
    /// At least one.
    explicit Experiments(ProblemSections kinds);

    /// Precedence: override > file > default. Throws ConfigError with every error in it.
    [[nodiscard]] RunConfig load(std::filesystem::path const& file, std::vector<Override> const& overrides = {},
                                 Accept const& accept = {}) const;
    [[nodiscard]] RunConfig parse(std::string_view text, std::string const& name,
                                  std::vector<Override> const& overrides = {}, Accept const& accept = {}) const;
    /// What to_yaml() made, also in an earlier version, which accepted keys that a problem never reads.
    [[nodiscard]] RunConfig parse_stored(std::string_view text) const;
    /// JSON Schema (draft-07) of an experiment file.
    [[nodiscard]] std::string schema_json() const;

private:
    ProblemSections kinds_;
    Section<RunConfig> section_;
};

/// `cluster.start` alone, which is needed before the ranks can talk to each other. Whatever is wrong is left for
/// load_experiment to report, and the default is used.
[[nodiscard]] base::Nanoseconds peek_start(std::filesystem::path const& file, std::vector<Override> const& overrides);

/// The merged experiment, every key written out; reading it gives the same value.
[[nodiscard]] std::string to_yaml(RunConfig const& config);
/// Canonical one-line text of the problem section, which decides the answer.
[[nodiscard]] std::string problem_text(ProblemConfig const& problem);
/// The part of the other sections that decides the answer, in one line; empty for a problem that reads none of it.
[[nodiscard]] std::string identity_text(RunConfig const& config);
/// As in YAML.
[[nodiscard]] std::string const& kind_of(ProblemConfig const& problem);

/// Any YAML text as JSON: plain scalars become numbers and truth values where they look like one. Throws ConfigError
/// that calls the text `name`.
[[nodiscard]] base::Json parse_yaml_to_json(std::string_view text, std::string const& name);

} // namespace espalier::config
