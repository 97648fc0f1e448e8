#include "npy.hpp"

#include "espalier/base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

namespace espalier::problems::rewrite {
namespace {

using base::InputError;
using model::Element;

constexpr std::string_view npy_magic = "\x93NUMPY";

struct NumpyType {
    Element element;
    std::string_view name;
};
/// The first name of an element is the one that is written.
constexpr std::array<NumpyType, 15> numpy_types{{{Element::f32, "<f4"},
                                                 {Element::f64, "<f8"},
                                                 {Element::f16, "<f2"},
                                                 {Element::i8, "|i1"},
                                                 {Element::i16, "<i2"},
                                                 {Element::i32, "<i4"},
                                                 {Element::i64, "<i8"},
                                                 {Element::u8, "|u1"},
                                                 {Element::u16, "<u2"},
                                                 {Element::u32, "<u4"},
                                                 {Element::u64, "<u8"},
                                                 {Element::boolean, "|b1"},
                                                 {Element::c64, "<c8"},
                                                 {Element::c128, "<c16"},
                                                 {Element::bf16, "<u2"}}};

/// Reads the description of a .npy file, a dict as Python writes it.
class Description {
public:
    Description(std::string_view text, std::string const& name) : text_(text), name_(name) { read(); }

    std::string type;
    bool columns_first = false;
    model::Dims dims;

private:
    [[noreturn]] void refuse() const {
        throw InputError("{}: its description is not one of numpy's ({}): write it with numpy.save", name_,
                         base::printable(text_.substr(0, 120)));
    }
    void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\n", at_), text_.size()); }
    [[nodiscard]] bool take(std::string_view word) {
        skip_blanks();
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }
    void expect(std::string_view word) {
        if (!take(word)) refuse();
    }
    [[nodiscard]] std::string quoted() {
        skip_blanks();
        auto const quote = at_ < text_.size() ? text_[at_] : '\0';
        auto const end = text_.find(quote, at_ + 1);
        if ((quote != '\'' && quote != '"') || end == text_.npos) refuse();
        auto const out = std::string(text_.substr(at_ + 1, end - at_ - 1));
        at_ = end + 1;
        return out;
    }
    [[nodiscard]] std::int64_t size() {
        skip_blanks();
        std::int64_t out = -1;
        auto const [end, fault] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
        if (fault != std::errc{} || out < 0) refuse();
        at_ = static_cast<std::size_t>(end - text_.data());
        return out;
    }
    void read_dims() {
        expect("(");
        while (!take(")")) {
            dims.push_back(size());
            if (!take(",") && !take(")")) refuse();
            if (text_[at_ - 1] == ')') return;
        }
    }
    void read_value(std::string const& key) {
        expect(":");
        if (key == "descr") {
            if (take("["))
                throw InputError("{}: its elements have fields (a tensor has none): write each field apart", name_);
            type = quoted();
        } else if (key == "fortran_order") {
            columns_first = take("True");
            if (!columns_first) expect("False");
        } else if (key == "shape") {
            read_dims();
        } else {
            refuse();
        }
    }
    void read() {
        std::vector<std::string> keys;
        expect("{");
        while (!take("}")) {
            keys.push_back(quoted());
            read_value(keys.back());
            if (!take(",") && at_ < text_.size() && text_[at_] != '}') refuse();
        }
        skip_blanks();
        std::ranges::sort(keys);
        if (at_ != text_.size() || keys != std::vector<std::string>{"descr", "fortran_order", "shape"}) refuse();
    }

    std::string_view text_;
    std::string const& name_;
    std::size_t at_ = 0;
};

Element element_of(std::string const& type, std::string const& name) {
    auto const* const found = std::ranges::find(numpy_types, type, &NumpyType::name);
    if (found != numpy_types.end()) return found->element;
    if (type.starts_with('>'))
        throw InputError("{}: its elements are big-endian ({}): convert them with .astype('<{}')", name,
                         base::printable(type), base::printable(type.substr(1)));
    throw InputError("{}: elements of type {} (a model's tensor cannot have them): use a type of numbers or bool", name,
                     base::printable(type));
}

/// Nothing if a size or the product of those that are not 0 is more than a process can address.
std::optional<std::uint64_t> bytes_of(model::Dims const& dims, std::int64_t element_bytes) {
    auto out = static_cast<std::uint64_t>(element_bytes);
    for (auto const dim : dims) {
        if (dim == 0) continue;
        if (out > std::numeric_limits<std::int64_t>::max() / static_cast<std::uint64_t>(dim)) return {};
        out *= static_cast<std::uint64_t>(dim);
    }
    return std::ranges::find(dims, 0) != dims.end() ? 0 : out;
}

/// What stands before the elements; `rest` is what comes after it.
std::string_view description_in(std::span<std::byte const> bytes, std::string const& name,
                                std::span<std::byte const>& rest) {
    std::string_view const text(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    if (text.size() < npy_magic.size() + 4 || !text.starts_with(npy_magic))
        throw InputError("{}: it is not a .npy file: write it with numpy.save", name);
    auto const version = static_cast<int>(text[npy_magic.size()]);
    if (version < 1 || version > 3)
        throw InputError("{}: version {} of .npy files is not known: write it with numpy.save", name, version);
    std::size_t const length_bytes = version == 1 ? 2 : 4, start = npy_magic.size() + 2 + length_bytes;
    std::size_t length = 0;
    if (text.size() >= start) std::memcpy(&length, text.data() + start - length_bytes, length_bytes);
    if (text.size() < start || length > text.size() - start)
        throw InputError("{}: it ends within its description: write it again", name);
    rest = bytes.subspan(start + length);
    return text.substr(start, length);
}

} // namespace

base::Bytes to_npy(model::Tensor const& tensor, std::string const& name) {
    auto const* const type = std::ranges::find(numpy_types, tensor.element, &NumpyType::element);
    if (type == numpy_types.end())
        throw InputError("{}: elements of type {} cannot be handed to a back end: name one that does without", name,
                         info(tensor.element).name);
    auto description = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type->name,
                                   fmt::join(tensor.dims, ", "), tensor.dims.size() == 1 ? "," : "");
    constexpr std::size_t aligned = 64; // as numpy has it, so that a file can be mapped
    auto const before = npy_magic.size() + 4;
    description.append(aligned - 1 - (before + description.size()) % aligned, ' ').push_back('\n');
    auto const length = static_cast<unsigned>(description.size());
    auto const head = std::string(npy_magic) + '\1' + '\0' + static_cast<char>(length & 255u) +
                      static_cast<char>(length >> 8) + description;
    base::Bytes out(head.size() + tensor.bytes.size());
    auto const elements = std::ranges::copy(std::as_bytes(std::span(head)), out.begin()).out;
    std::ranges::copy(tensor.bytes, elements);
    return out;
}

model::Tensor parse_npy(std::span<std::byte const> bytes, std::string const& name) {
    std::span<std::byte const> elements;
    Description const description(description_in(bytes, name, elements), name);
    if (description.columns_first)
        throw InputError("{}: its columns come first: write numpy.asarray(it, order='C')", name);
    model::Tensor out{element_of(description.type, name), description.dims, {}, {}};
    auto const wanted = bytes_of(out.dims, info(out.element).size_bytes);
    if (wanted != elements.size())
        throw InputError("{}: it has {} bytes, and its shape [{}] needs {}: write it again", name, elements.size(),
                         fmt::join(out.dims, ", "), wanted ? fmt::to_string(*wanted) : "more than there can be");
    out.bytes.assign(elements.begin(), elements.end());
    return out;
}

} // namespace espalier::problems::rewrite
