#pragma once

#include "espalier/base/error.hpp"

#include <mpi.h>

#include <string_view>

namespace espalier::cluster {

/// At the start all ranks are needed.
inline void expect_success(int code, char const* step) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw base::SystemError("the ranks could not {} ({}): start the same command again", step,
                            std::string_view(text, static_cast<std::size_t>(length)));
}

} // namespace espalier::cluster
