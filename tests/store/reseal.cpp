#include "page_sums.hpp"
#include "seal.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

/// For tests that change a file by other means and want it to count as intact again.
/// Usage: reseal run FILE (without a seal), reseal shard FILE (without a trailer).
namespace {

using namespace espalier;

base::Bytes content_of(char const* file) {
    std::ifstream in(file, std::ios::binary);
    std::string const text{std::istreambuf_iterator<char>(in), {}};
    auto const raw = std::as_bytes(std::span(text));
    return {raw.begin(), raw.end()};
}

base::Bytes trailer_of(base::Bytes content) {
    store::PageSums sums;
    store::Pages pages;
    auto const end = content.size();
    content.resize((end + store::page_bytes - 1) / store::page_bytes * store::page_bytes);
    for (std::size_t page = 0; page < content.size() / store::page_bytes; ++page) {
        auto const bytes = std::span(content).subspan(page * store::page_bytes, store::page_bytes);
        pages[page].assign(bytes.begin(), bytes.end());
    }
    sums.set(pages, end);
    return store::trailer(sums);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    auto content = content_of(argv[2]);
    if (std::string(argv[1]) == "run")
        store::seal(content);
    else
        base::ByteWriter(content).put_raw(trailer_of(content));
    std::ofstream(argv[2], std::ios::binary)
        .write(reinterpret_cast<char const*>(content.data()), static_cast<std::streamsize>(content.size()));
    return 0;
}
