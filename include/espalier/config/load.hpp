#pragma once

#include "espalier/base/error.hpp"
#include "espalier/base/json.hpp"
#include "espalier/config/run_config.hpp"

#include <filesystem>
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
    std::string key;
    std::string value;  ///< YAML
    std::string origin; ///< e.g. `--set search.threads=x` or `--max-time`
};
/// Splits `key=value`. Throws InputError.
[[nodiscard]] Override parse_override(std::string_view text);

/// Precedence: override > file > default. Throws ConfigError with every error in it.
[[nodiscard]] RunConfig load_experiment(std::filesystem::path const& file, std::vector<Override> const& overrides = {});
[[nodiscard]] RunConfig parse_experiment(std::string_view text, std::string const& name,
                                         std::vector<Override> const& overrides = {});

/// The merged experiment, every key written out; reading it gives the same value.
[[nodiscard]] std::string to_yaml(RunConfig const& config);
/// Canonical one-line text of the problem section, which decides the answer.
[[nodiscard]] std::string problem_text(ProblemConfig const& problem);
/// JSON Schema (draft-07) of an experiment file.
[[nodiscard]] std::string schema_json();
/// `uts`: as in YAML.
[[nodiscard]] std::string_view kind_of(ProblemConfig const& problem);

/// Any YAML text as JSON: plain scalars become numbers and truth values where they look like one. Throws ConfigError
/// that calls the text `name`.
[[nodiscard]] base::Json parse_yaml_to_json(std::string_view text, std::string const& name);

} // namespace espalier::config
