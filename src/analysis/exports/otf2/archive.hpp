#pragma once

#include "espalier/base/error.hpp"

#include <otf2/otf2.h>

#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

namespace espalier::analysis::exports {

/// While it lives, OTF2 says nothing on stderr; the first thing it would have said is kept.
class QuietErrors {
public:
    QuietErrors() : previous_(OTF2_Error_RegisterCallback(keep, this)) {}
    ~QuietErrors() { OTF2_Error_RegisterCallback(previous_, nullptr); }
    QuietErrors(QuietErrors const&) = delete;
    QuietErrors& operator=(QuietErrors const&) = delete;
    [[nodiscard]] std::string const& first() const { return first_; }

private:
    static OTF2_ErrorCode keep(void* self, char const*, std::uint64_t, char const*, OTF2_ErrorCode code,
                               char const* format, va_list values) {
        auto& first = static_cast<QuietErrors*>(self)->first_;
        if (!first.empty() || code == OTF2_WARNING || code == OTF2_DEPRECATED) return code;
        std::array<char, 512> said{};
        if (format != nullptr) std::vsnprintf(said.data(), said.size(), format, values);
        first = fmt::format("{}{}{}", OTF2_Error_GetDescription(code), said[0] ? ": " : "", said.data());
        return code;
    }

    std::string first_;
    OTF2_ErrorCallback previous_;
};

inline OTF2_FlushType always_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }

/// One chunk per buffer: a second one is refused, so that the first is written out. The library itself would keep up to
/// 128 MiB per thread.
inline void* one_chunk(void*, OTF2_FileType, OTF2_LocationRef, void** chunk, std::uint64_t bytes) {
    if (*chunk != nullptr) return nullptr;
    return *chunk = std::malloc(bytes);
}
inline void free_chunk(void*, OTF2_FileType, OTF2_LocationRef, void** chunk, bool) {
    std::free(std::exchange(*chunk, nullptr));
}

/// An archive written by this process alone. Used by one thread.
class Archive {
public:
    explicit Archive(std::filesystem::path const& folder, std::filesystem::path const& shown) : shown_(shown) {
        handle_.reset(require(OTF2_Archive_Open(folder.c_str(), "traces", OTF2_FILEMODE_WRITE,
                                                OTF2_CHUNK_SIZE_EVENTS_DEFAULT, OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT,
                                                OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE)));
        static constexpr OTF2_FlushCallbacks flush{always_flush, nullptr};
        static constexpr OTF2_MemoryCallbacks memory{one_chunk, free_chunk};
        check(OTF2_Archive_SetFlushCallbacks(get(), &flush, nullptr));
        check(OTF2_Archive_SetMemoryCallbacks(get(), &memory, nullptr));
        check(OTF2_Archive_SetSerialCollectiveCallbacks(get()));
        check(OTF2_Archive_SetCreator(get(), "Espalier"));
    }

    [[nodiscard]] OTF2_Archive* get() const { return handle_.get(); }
    /// Throws SystemError if this call of the library, or one before it, failed.
    void check(OTF2_ErrorCode code) const {
        if (code == OTF2_SUCCESS && errors_.first().empty()) return;
        throw base::SystemError("{}: the OTF2 archive cannot be written: {}: choose another place, or make room there",
                                shown_.string(),
                                errors_.first().empty() ? OTF2_Error_GetDescription(code) : errors_.first());
    }
    template <class T>
    [[nodiscard]] T* require(T* handle) const {
        check(handle != nullptr ? OTF2_SUCCESS : OTF2_ERROR_INVALID);
        return handle;
    }
    void close() { check(OTF2_Archive_Close(handle_.release())); }

private:
    struct Closer {
        void operator()(OTF2_Archive* archive) const { OTF2_Archive_Close(archive); }
    };
    std::filesystem::path shown_;
    QuietErrors errors_;
    std::unique_ptr<OTF2_Archive, Closer> handle_;
};

} // namespace espalier::analysis::exports
