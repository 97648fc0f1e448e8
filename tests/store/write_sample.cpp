#include "espalier/store/run_folder.hpp"

#include "store/samples.hpp"

#include <cstdio>

/// Writes the sample run into the folder that is named, for read_run.py.
int main(int argc, char** argv) try {
    using namespace espalier::store;
    if (argc != 2) {
        std::fputs("usage: write_sample FOLDER\n", stderr);
        return 2;
    }
    RunFolder const folder({.path = argv[1], .replace = true}, samples::identity());
    write_run(folder.run_file(), samples::run());
    write_checkpoint(folder.path(), samples::checkpoint());
    TraceShard(folder.path() / trace_shard_name(1, 3), samples::shard_info()).append(samples::events(5000));
    return 0;
} catch (std::exception const& error) {
    std::fprintf(stderr, "write_sample: %s\n", error.what());
    return 1;
}
