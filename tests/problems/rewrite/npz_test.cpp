#include "npz.hpp"

#include "espalier/base/rng.hpp"
#include "espalier/base/scratch_folder.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace espalier::problems::rewrite {
namespace {

using model::Element;
using model::Tensor;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

template <class T>
Tensor tensor_of(Element element, model::Dims dims, std::vector<T> const& values) {
    Tensor out{element, std::move(dims), {}, {}};
    auto const bytes = std::as_bytes(std::span(values));
    out.bytes.assign(bytes.begin(), bytes.end());
    return out;
}

Tensors sample() {
    return {{"x", tensor_of<float>(Element::f32, {2, 3}, {1, 2, 3, 4, 5, 6})},
            {"a scalar", tensor_of<double>(Element::f64, {}, {0.5})},
            {"onnx::Conv/with:signs.npy", tensor_of<std::int64_t>(Element::i64, {2}, {-1, 1})},
            {"nothing", tensor_of<float>(Element::f32, {0, 7}, {})},
            {"schön", tensor_of<std::uint8_t>(Element::boolean, {1, 2}, {0, 1})}};
}

/// Runs Python with numpy; its output.
std::string python(std::string const& code, std::string const& argument) {
    base::ScratchFolder const folder;
    std::ofstream(folder / "code.py") << code;
    auto const command =
        "/usr/bin/python3 -B " + (folder / "code.py").string() + " '" + argument + "' > " + (folder / "out").string();
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::ifstream in(folder / "out");
    return {std::istreambuf_iterator<char>(in), {}};
}

base::Bytes bytes_of(std::filesystem::path const& file) {
    std::ifstream in(file, std::ios::binary);
    std::string const text(std::istreambuf_iterator<char>(in), {});
    auto const bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

std::string refusal(base::Bytes const& bytes) {
    try {
        static_cast<void>(parse_npz(bytes, "f.npz"));
        return "accepted";
    } catch (base::InputError const& error) {
        return error.what();
    }
}

TEST(Npz, is_read_as_it_was_written) {
    auto const all = sample();

    EXPECT_EQ(parse_npz(to_npz(all), "f.npz"), all);
}

TEST(Npz, of_nothing_is_empty) { EXPECT_EQ(parse_npz(to_npz({}), "f.npz"), Tensors{}); }

TEST(Npz, every_type_of_numbers_survives) {
    for (auto const element :
         {Element::f32, Element::f64, Element::f16, Element::i8, Element::i16, Element::i32, Element::i64, Element::u8,
          Element::u16, Element::u32, Element::u64, Element::boolean, Element::c64, Element::c128}) {
        auto const size = static_cast<std::size_t>(info(element).size_bytes);
        Tensors const one{{"x", {element, {3}, base::Bytes(3 * size, std::byte{1}), {}}}};

        EXPECT_EQ(parse_npz(to_npz(one), "f.npz"), one) << info(element).name;
    }
}

TEST(Npz, keeps_the_bits_of_bf16_as_u16) {
    Tensor const written = tensor_of<std::uint16_t>(Element::bf16, {2}, {0x3f80, 0x4000});

    auto const read = parse_npz(to_npz({{"x", written}}), "f.npz").at("x");

    EXPECT_EQ(read.element, Element::u16);
    EXPECT_EQ(read.bytes, written.bytes);
}

TEST(Npz, texts_are_refused) {
    Tensor const words{Element::text, {1}, {}, {"word"}};

    EXPECT_THAT(
        [&] {
            static_cast<void>(to_npz({{"x", words}}));
        },
        ThrowsMessage<base::InputError>(HasSubstr("x: elements of type text")));
}

TEST(Npz, numpy_reads_what_we_write) {
    base::ScratchFolder const folder;
    write_npz(folder / "f.npz", sample());

    auto const told = python(R"(
import sys, zipfile
import numpy as np
assert zipfile.ZipFile(sys.argv[1]).testzip() is None
for name, array in sorted(np.load(sys.argv[1]).items()):
    print(ascii(name), array.dtype, array.shape, array.tolist())
)",
                             (folder / "f.npz").string());

    EXPECT_EQ(told, "'a scalar' float64 () 0.5\n"
                    "'nothing' float32 (0, 7) []\n"
                    "'onnx::Conv/with:signs.npy' int64 (2,) [-1, 1]\n"
                    "'sch\\xf6n' bool (1, 2) [[False, True]]\n"
                    "'x' float32 (2, 3) [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]\n");
}

TEST(Npz, what_numpy_writes_is_read) {
    base::ScratchFolder const folder;

    python(R"(
import sys
import numpy as np
np.savez(sys.argv[1], **{"x": np.arange(1, 7, dtype=np.float32).reshape(2, 3), "a scalar": np.float64(0.5),
                         "onnx::Conv/with:signs.npy": np.array([-1, 1]), "nothing": np.zeros((0, 7), np.float32),
                         "sch\xf6n": np.array([[False, True]])})
)",
           (folder / "f.npz").string());

    EXPECT_EQ(read_npz(folder / "f.npz"), sample());
}

TEST(Npz, numbers_that_stand_in_an_extra_are_read) {
    base::ScratchFolder const folder;

    python(R"(
import struct, sys, zipfile
import numpy as np
np.savez(sys.argv[1], x=np.array([1, 2], np.int32))
data = bytearray(open(sys.argv[1], "rb").read())
entry = data.rindex(b"PK\1\2")                      # its sizes and its place move to an extra for large files
stored, size = struct.unpack_from("<II", data, entry + 20)
name, = struct.unpack_from("<H", data, entry + 28)
place, = struct.unpack_from("<I", data, entry + 42)
extra = struct.pack("<HHQQQ", 1, 24, size, stored, place)
struct.pack_into("<II", data, entry + 20, 2 ** 32 - 1, 2 ** 32 - 1)
struct.pack_into("<H", data, entry + 30, len(extra))
struct.pack_into("<I", data, entry + 42, 2 ** 32 - 1)
data[entry + 46 + name:entry + 46 + name] = extra
end = data.rindex(b"PK\5\6")
struct.pack_into("<I", data, end + 12, struct.unpack_from("<I", data, end + 12)[0] + len(extra))
open(sys.argv[1], "wb").write(data)
)",
           (folder / "f.npz").string());

    EXPECT_EQ(read_npz(folder / "f.npz"), (Tensors{{"x", tensor_of<std::int32_t>(Element::i32, {2}, {1, 2})}}));
}

TEST(Npz, what_a_tensor_cannot_be_is_refused_by_name) {
    base::ScratchFolder const folder;
    struct {
        char const* code;
        char const* problem;
    } const cases[] = {
        {"np.savez(f, y=np.asfortranarray(np.ones((2, 3))))", "y.npy: its columns come first"},
        {"np.savez(f, y=np.ones(2, '>f4'))", "y.npy: its elements are big-endian (>f4)"},
        {"np.savez(f, y=np.array(['word']))", "y.npy: elements of type <U4"},
        {"np.savez(f, y=np.zeros(2, [('a', 'f4'), ('b', 'i4')]))", "y.npy: its elements have fields"},
        {"np.savez(f, y=np.array([{}], dtype=object))", "y.npy: elements of type |O"},
        {"np.lib.format.write_array_header_1_0(zipfile.ZipFile(f, 'w').open('y.npy', 'w'), {'descr': '<f4', "
         "'fortran_order': "
         "False, 'shape': (2**62, 2**62, 0)})",
         "y.npy: it has 0 bytes, and its shape"},
        {"np.savez_compressed(f, y=np.ones(200))", "y.npy: it is compressed"},
        {"zipfile.ZipFile(f, 'w').writestr('y.npy', b'text')", "y.npy: it is not a .npy file"},
        {"open(f, 'wb').write(b'text')", "is not a whole .npz file"},
    };
    std::string code = "import sys, zipfile\nimport numpy as np\n";
    for (std::size_t i = 0; i < std::size(cases); ++i)
        code += fmt::format("f = sys.argv[1] + '/{}.npz'\n{}\n", i, cases[i].code);

    python(code, (folder / "").string());

    for (std::size_t i = 0; i < std::size(cases); ++i)
        EXPECT_THAT(refusal(bytes_of(folder / fmt::format("{}.npz", i))), HasSubstr(cases[i].problem)) << cases[i].code;
}

TEST(Npz, a_file_that_is_not_there_is_refused) {
    EXPECT_THAT([] { static_cast<void>(read_npz("/no/such.npz")); },
                ThrowsMessage<base::InputError>(HasSubstr("/no/such.npz: no such file")));
}

TEST(Npz, cut_off_anywhere_it_is_refused) {
    auto const whole = to_npz(sample());

    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_NE(refusal({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}), "accepted") << size;
}

TEST(Npz, no_change_of_bytes_does_any_harm) {
    auto const whole = to_npz(sample());
    std::size_t refused = 0;

    for (std::size_t at = 0; at < whole.size(); ++at)
        for (auto const value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
            auto changed = whole;
            changed[at] = std::byte(value);
            refused += refusal(changed) != "accepted" ? 1 : 0;
        }

    EXPECT_GT(refused, whole.size());
}

TEST(Npz, changed_elements_are_noticed) {
    auto changed = to_npz({{"x", tensor_of<float>(Element::f32, {2}, {1, 2})}});
    auto const elements = 30 + 5 + 128; // local header, name, description
    changed[elements] ^= std::byte{1};

    EXPECT_THAT(refusal(changed), HasSubstr("a checksum is wrong"));
}

} // namespace
} // namespace espalier::problems::rewrite
