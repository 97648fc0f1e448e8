#include "espalier/base/scratch_folder.hpp"

#include "espalier/base/error.hpp"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace espalier::base {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder() {
    std::error_code missing;
    auto const parent = fs::temp_directory_path(missing);
    if (missing)
        throw SystemError("TMPDIR: no folder for temporary files ({}): set it to one that exists", missing.message());
    auto name = (parent / "espalier-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
        throw SystemError("{}: cannot make a folder there ({}): set TMPDIR to one with space", parent.string(),
                          std::strerror(errno));
    path_ = name;
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

} // namespace espalier::base
