#pragma once

#include <fmt/core.h>

#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace espalier::base {

/// What the program and its sub-commands return to the shell.
enum class ExitCode : int {
    done = 0,
    failure = 1,
    usage = 2,
    invalid_input = 3,
    verification_failed = 4,
    nothing_found = 5,
    comparison_failed = 6,
    resumable = 85,
};

/// The user's input is wrong: a file, a key, a flag, a run folder. The message says where, what, why and the remedy.
class InputError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    template <class... Args>
    explicit InputError(fmt::format_string<Args...> format, Args&&... args) requires(sizeof...(Args) > 0)
        : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

/// The environment failed: a disk is full, a file cannot be opened, a message is damaged.
class SystemError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    template <class... Args>
    explicit SystemError(fmt::format_string<Args...> format, Args&&... args) requires(sizeof...(Args) > 0)
        : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

/// Keeps the first exception of a parallel region, because none may leave it. Thread safe.
class FirstError {
public:
    template <class Work>
    void guard(Work&& work) noexcept {
        try {
            std::forward<Work>(work)();
        } catch (...) {
            std::lock_guard const lock(mutex_);
            if (!error_) error_ = std::current_exception();
        }
    }
    [[nodiscard]] bool has_error() const {
        std::lock_guard const lock(mutex_);
        return error_ != nullptr;
    }
    void rethrow_if_any() const {
        std::lock_guard const lock(mutex_);
        if (error_) std::rethrow_exception(error_);
    }

private:
    mutable std::mutex mutex_;
    std::exception_ptr error_;
};

} // namespace espalier::base
