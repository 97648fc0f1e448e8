#include "fuzz/readers.hpp"

#include "npy.hpp"
#include "npz.hpp"

namespace espalier::fuzz {
namespace {

namespace rewrite = problems::rewrite;

std::span<std::byte const> as_bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string as_text_of(base::Bytes const& bytes) { return {reinterpret_cast<char const*>(bytes.data()), bytes.size()}; }

template <class Read>
void read_or_refuse_input(Read read) {
    try {
        read();
    } catch (base::InputError const& error) {
        expect(!std::string_view(error.what()).empty(), "a refusal says something");
    }
}

void read_npy(std::string_view input) {
    read_or_refuse_input([&] {
        auto const tensor = rewrite::parse_npy(as_bytes_of(input), "x");
        expect(rewrite::parse_npy(rewrite::to_npy(tensor, "x"), "x") == tensor,
               "a tensor that is written stays the same");
    });
}

void read_npz(std::string_view input) {
    read_or_refuse_input([&] {
        auto const tensors = rewrite::parse_npz(as_bytes_of(input), "x");
        expect(rewrite::parse_npz(rewrite::to_npz(tensors), "x") == tensors, "tensors that are written stay the same");
    });
}

rewrite::Tensors some_tensors() {
    return {{"x", {model::Element::f32, {2, 3}, base::Bytes(24, std::byte{1}), {}}},
            {"scalar", {model::Element::i64, {}, base::Bytes(8), {}}},
            {"a/b:0", {model::Element::boolean, {0, 7}, {}, {}}}};
}

std::vector<std::string> npy_files() {
    std::vector<std::string> out;
    for (auto const& [name, tensor] : some_tensors()) out.push_back(as_text_of(rewrite::to_npy(tensor, name)));
    return out;
}

} // namespace

std::vector<Target> array_targets() {
    return {{"npy", read_npy, npy_files()}, {"npz", read_npz, {as_text_of(rewrite::to_npz(some_tensors()))}}};
}

} // namespace espalier::fuzz
