#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <sys/mount.h>

/// Where store tests write.
namespace espalier::store {

/// A new empty folder that is removed at the end.
class TemporaryFolder {
public:
    TemporaryFolder() {
        // In memory if possible: these tests sync a lot, and disks are slow at it.
        auto const memory = std::filesystem::path("/dev/shm");
        auto const parent = std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
        auto name = (parent / "espalier-store-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
        path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(TemporaryFolder const&) = delete;
    TemporaryFolder& operator=(TemporaryFolder const&) = delete;
    [[nodiscard]] std::filesystem::path const& path() const { return path_; }

private:
    std::filesystem::path path_;
};

/// A file system of a given size; only root may mount one.
class SmallDisk {
public:
    explicit SmallDisk(std::string const& size)
        : is_mounted_(::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0) {}
    ~SmallDisk() {
        if (is_mounted_) ::umount2(path().c_str(), MNT_DETACH);
    }
    SmallDisk(SmallDisk const&) = delete;
    SmallDisk& operator=(SmallDisk const&) = delete;
    [[nodiscard]] bool is_mounted() const { return is_mounted_; }
    [[nodiscard]] std::filesystem::path const& path() const { return folder_.path(); }

private:
    TemporaryFolder folder_;
    bool is_mounted_;
};

inline std::string read_text(std::filesystem::path const& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_text(std::filesystem::path const& file, std::string const& text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
}

/// What an error says; empty if there is none.
template <class Error, class Work>
std::string message_of(Work&& work) {
    try {
        work();
    } catch (Error const& error) {
        return error.what();
    }
    return {};
}

} // namespace espalier::store
