#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace espalier::analysis::exports {

/// A file that appears under its name when it is complete; what an error leaves is removed. A device or pipe is written
/// directly. Used by one thread.
class OutputFile {
public:
    /// Throws SystemError if it cannot be made.
    explicit OutputFile(std::filesystem::path const& file);
    ~OutputFile();
    OutputFile(OutputFile const&) = delete;
    OutputFile& operator=(OutputFile const&) = delete;

    /// Throws SystemError, e.g. when the disk is full.
    void append(std::string_view text) {
        buffer_.append(text);
        if (buffer_.size() >= flush_bytes) flush();
    }
    template <class... Args>
    void print(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
        if (buffer_.size() >= flush_bytes) flush();
    }
    /// Throws SystemError.
    void complete();

    /// True if the name is that of a device or pipe.
    [[nodiscard]] static bool is_special(std::filesystem::path const& file);

private:
    static constexpr std::size_t flush_bytes = 1u << 20;
    void flush();
    [[noreturn]] void fail(std::string_view what) const;

    std::filesystem::path file_;
    std::filesystem::path written_; ///< the temporary name
    std::string buffer_;
    int descriptor_ = -1;
};

} // namespace espalier::analysis::exports
