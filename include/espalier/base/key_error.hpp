#pragma once

#include "espalier/base/error.hpp"

namespace espalier::base {

/// Bad input whose place is known by key (`problem.program.ops[2]`): whoever read the text can name the line.
class KeyError : public InputError {
public:
    KeyError(std::string key, std::string const& problem)
        : InputError("'{}': {}", key, problem), key_(std::move(key)) {}
    [[nodiscard]] std::string const& key() const { return key_; }

private:
    std::string key_;
};

} // namespace espalier::base
