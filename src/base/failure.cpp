#include "espalier/base/failure.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <new>
#include <system_error>

namespace espalier::base {
namespace {

/// What is wrong with the path that was named; anything else, such as a full disk, is the environment's fault.
constexpr std::array path_errors{std::errc::no_such_file_or_directory,
                                 std::errc::not_a_directory,
                                 std::errc::is_a_directory,
                                 std::errc::permission_denied,
                                 std::errc::operation_not_permitted,
                                 std::errc::filename_too_long,
                                 std::errc::too_many_symbolic_link_levels,
                                 std::errc::read_only_file_system,
                                 std::errc::file_exists,
                                 std::errc::invalid_argument};

Failure of_path(std::filesystem::filesystem_error const& error) {
    auto const is_named_wrong = std::ranges::any_of(path_errors, [&](std::errc code) { return error.code() == code; });
    auto const text = fmt::format("{}: cannot be used ({}): {}", error.path1().string(), error.code().message(),
                                  is_named_wrong ? "check the path and its permissions" : "check the file system");
    return {text, is_named_wrong ? ExitCode::invalid_input : ExitCode::failure};
}

} // namespace

Failure describe(std::exception const& error) {
    if (dynamic_cast<InputError const*>(&error) != nullptr) return {error.what(), ExitCode::invalid_input};
    if (dynamic_cast<SystemError const*>(&error) != nullptr) return {error.what()};
    if (auto const* path = dynamic_cast<std::filesystem::filesystem_error const*>(&error)) return of_path(*path);
    if (dynamic_cast<std::bad_alloc const*>(&error) != nullptr)
        return {
            "there is not enough memory (see ulimit -v and the memory of the job): use fewer threads, or more memory"};
    if (auto const* system = dynamic_cast<std::system_error const*>(&error))
        return {fmt::format("the system refused ({}): check the limits of the process (ulimit -a)",
                            system->code().message())};
    return {fmt::format("unexpected: {} (a bug in espalier: please report it)", error.what())};
}

} // namespace espalier::base
