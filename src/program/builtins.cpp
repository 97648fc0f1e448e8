#include "espalier/base/error.hpp"
#include "espalier/program/source.hpp"
#include "limits.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::program {
namespace {

using base::InputError;
using Sizes = std::vector<std::int64_t>;

SourceOp op(std::string out, std::string name, std::vector<std::string> in, Attributes attributes = {}) {
    return {{std::move(out)}, std::move(name), std::move(in), std::move(attributes)};
}

/// One size for each key, from 1 on; or 0 for the key that may be left to the kind of program. Behind them the variant.
void expect_sizes(std::string_view builtin, Sizes const& sizes, std::string_view may_be_zero = "") {
    auto const& keys = find_builtin(builtin)->keys;
    auto const variants = static_cast<std::int64_t>(find_builtin(builtin)->variants.size());
    auto const has_variant = sizes.size() == keys.size() + 1 && sizes.back() >= 0 && sizes.back() < variants;
    if (sizes.size() != keys.size() && !has_variant)
        throw InputError("{}: {} sizes, but it has {} keys: give one per key", builtin, sizes.size(), keys.size());
    std::string problems;
    for (std::size_t i = 0; i < keys.size(); ++i)
        if (sizes[i] < (keys[i].name == may_be_zero ? 0 : 1) || sizes[i] > max_dim)
            problems += fmt::format("{}{}.{}: {} is not a size: give a whole number from 1 to {}",
                                    problems.empty() ? "" : "\n", builtin, keys[i].name, sizes[i], max_dim);
    if (!problems.empty()) throw InputError(problems);
}

/// Sizes without a variant mean the first one.
std::string_view variant_of(std::string_view builtin, Sizes const& sizes) {
    auto const& all = *find_builtin(builtin);
    return all.variants[sizes.size() > all.keys.size() ? static_cast<std::size_t>(sizes.back()) : 0].name;
}
constexpr std::string_view safe = "safe", mirage = "mirage";

/// X [B, K] W [K, N], with what is done to X before.
Source normed_linear(std::string_view name, Sizes const& sizes, std::vector<SourceOp> ops) {
    expect_sizes(name, sizes);
    Source out;
    out.name = name;
    out.dims = {{"B", sizes[0]}, {"K", sizes[1]}, {"N", sizes[2]}};
    out.inputs = {{"X", {"B", "K"}}, {"W", {"K", "N"}}};
    out.ops = std::move(ops);
    out.ops.push_back(op("Z", "matmul", {"Y", "W"}));
    out.outputs = {"Z"};
    out.weights = {"W"};
    return out;
}
Source rmsnorm_linear(Sizes const& sizes) {
    return normed_linear("rmsnorm_linear", sizes, {op("Y", "rms_norm", {"X"}, Attributes::axis(-1))});
}
Source rmsnorm_linear_primitive(Sizes const& sizes) {
    return normed_linear("rmsnorm_linear_primitive", sizes,
                         {op("S", "square", {"X"}), op("T", "sum", {"S"}, Attributes::axis(-1)), op("R", "sqrt", {"T"}),
                          op("Y", "div", {"X", "R"})});
}
Source layernorm_linear(Sizes const& sizes) {
    return normed_linear("layernorm_linear", sizes, {op("Y", "layer_norm", {"X"}, Attributes::axis(-1))});
}
Source softmax_linear(Sizes const& sizes) {
    return normed_linear("softmax_linear", sizes, {op("Y", "softmax", {"X"}, Attributes::axis(-1))});
}

Source gated_mlp(Sizes const& sizes) {
    expect_sizes("gated_mlp", sizes);
    Source out;
    out.name = "gated_mlp";
    out.dims = {{"B", sizes[0]}, {"K", sizes[1]}, {"N", sizes[2]}};
    out.inputs = {{"X", {"B", "K"}}, {"W1", {"K", "N"}}, {"W2", {"K", "N"}}};
    out.ops = {op("G", "matmul", {"X", "W1"}), op("S", "silu", {"G"}), op("U", "matmul", {"X", "W2"}),
               op("Z", "mul", {"S", "U"})};
    out.outputs = {"Z"};
    out.weights = {"W1", "W2"};
    return out;
}

Source lora(Sizes const& sizes) {
    expect_sizes("lora", sizes);
    Source out;
    out.name = "lora";
    out.dims = {{"M", sizes[0]}, {"K", sizes[1]}, {"N", sizes[2]}, {"R", sizes[3]}};
    out.inputs = {{"X", {"M", "K"}}, {"W", {"K", "N"}}, {"A", {"K", "R"}}, {"B", {"R", "N"}}};
    out.ops = {op("P", "matmul", {"X", "W"}), op("T", "matmul", {"X", "A"}), op("L", "matmul", {"T", "B"}),
               op("O", "add", {"P", "L"})};
    out.outputs = {"O"};
    out.weights = {"W", "A", "B"};
    return out;
}

/// Query heads that share a key head are rows of one matrix; D and E are head_dim of keys and of values.
struct HeadSizes {
    std::int64_t batch, heads, kv_heads, queries, keys, head_dim;
};
/// What attention multiplies, and how its softmax is spelled.
struct Attended {
    std::string_view variant;
    std::string queries = "Q", keys = "K", values = "V";
    std::vector<SourceOp> first = {}; ///< ops that make these
};
Source attention(std::string_view name, HeadSizes const& s, Attended of) {
    if (s.heads % s.kv_heads != 0)
        throw InputError("{}.kv_heads: {} key heads do not divide {} query heads: choose a divisor of heads", name,
                         s.kv_heads, s.heads);
    Source out;
    out.name = name;
    out.dims = {{"B", s.batch * s.kv_heads},
                {"Q", s.heads / s.kv_heads * s.queries},
                {"D", s.head_dim},
                {"K", s.keys},
                {"E", s.head_dim}};
    out.inputs = {{"Q", {"B", "Q", "D"}}, {"K", {"B", "D", "K"}}, {"V", {"B", "K", "E"}}};
    out.ops = std::move(of.first);
    out.ops.push_back(op("S", "matmul", {of.queries, of.keys}));
    auto const softmax = of.variant == safe
                             ? std::vector{op("A", "softmax", {"S"}, Attributes::axis(-1))}
                             : std::vector{op("P", "exp", {"S"}), op("T", "sum", {"P"}, Attributes::axis(-1)),
                                           op("A", "div", {"P", "T"})};
    out.ops.insert(out.ops.end(), softmax.begin(), softmax.end());
    out.ops.push_back(op("O", "matmul", {"A", of.values}));
    out.outputs = {"O"};
    return out;
}
/// kv_heads 0: what the kind has.
HeadSizes head_sizes(std::string_view name, Sizes const& s, std::int64_t kv_heads_of_kind) {
    expect_sizes(name, s, kv_heads_of_kind > 0 ? "kv_heads" : "");
    if (kv_heads_of_kind > 0 && s[2] != 0 && s[2] != kv_heads_of_kind)
        throw InputError("{}.kv_heads: {} key heads, but {} has {}: leave the key out, or use gqa", name, s[2], name,
                         kv_heads_of_kind);
    return {s[0], s[1], kv_heads_of_kind > 0 ? kv_heads_of_kind : s[2], s[3], s[4], s[5]};
}
Source mha(Sizes const& sizes) {
    auto const heads = sizes.size() > 1 ? sizes[1] : 0;
    auto const all = head_sizes("mha", sizes, std::max<std::int64_t>(heads, 1));
    return attention("mha", all, {variant_of("mha", sizes)});
}
Source mqa(Sizes const& sizes) {
    auto const all = head_sizes("mqa", sizes, 1);
    return attention("mqa", all, {variant_of("mqa", sizes)});
}
Source gqa(Sizes const& sizes) {
    auto const all = head_sizes("gqa", sizes, 0);
    return attention("gqa", all, {variant_of("gqa", sizes)});
}
/// Models normalise queries and keys along head_dim. Mirage's benchmark of that name normalises the last dimension of Q
/// and of V, and leaves the keys, whose last dimension is that of positions.
Source qknorm_gqa(Sizes const& sizes) {
    auto const all = head_sizes("qknorm_gqa", sizes, 0);
    auto const variant = variant_of("qknorm_gqa", sizes);
    auto const queries = op("QN", "rms_norm", {"Q"}, Attributes::axis(-1));
    if (variant == mirage)
        return attention("qknorm_gqa", all,
                         {variant, "QN", "K", "VN", {queries, op("VN", "rms_norm", {"V"}, Attributes::axis(-1))}});
    return attention("qknorm_gqa", all,
                     {variant, "QN", "KN", "V", {queries, op("KN", "rms_norm", {"K"}, Attributes::axis(1))}});
}

/// The normalised transformer moves X towards rms_norm(H) by a learned A of every column. Mirage's benchmark adds where
/// it subtracts, and has an A of every element.
Source ntrans(Sizes const& sizes) {
    expect_sizes("ntrans", sizes);
    auto const is_mirage = variant_of("ntrans", sizes) == mirage;
    auto const last = Attributes::axis(-1);
    Source out;
    out.name = "ntrans";
    out.dims = {{"B", sizes[0]}, {"K", sizes[1]}};
    out.inputs = {{"X", {"B", "K"}}, {"H", {"B", "K"}}, {"A", {is_mirage ? "B" : "1", "K"}}};
    out.ops = {op("N", "rms_norm", {"H"}, last), op("D", is_mirage ? "add" : "sub", {"N", "X"}),
               op("S", "mul", {"D", "A"}), op("T", "add", {"X", "S"}), op("Y", "rms_norm", {"T"}, last)};
    out.outputs = {"Y"};
    return out;
}

std::vector<BuiltinKey> linear_keys(std::int64_t tokens, std::int64_t hidden, std::int64_t out) {
    return {{"tokens", "rows of X", tokens},
            {"hidden", "columns of X: the dimension that is summed", hidden},
            {"out", "columns of the weights", out}};
}
std::vector<BuiltinKey> lora_keys() {
    auto keys = linear_keys(16, 256, 4096);
    keys.push_back({"rank", "of the low-rank update", 16});
    return keys;
}
std::vector<BuiltinKey> head_keys(HeadSizes const& defaults) {
    return {{"batch", "sequences", defaults.batch},
            {"heads", "query heads", defaults.heads},
            {"kv_heads", "key and value heads, a divisor of heads; 0 is what mha (heads) and mqa (1) have",
             defaults.kv_heads},
            {"queries", "query positions of a sequence; decoding has 1 to 8", defaults.queries},
            {"keys", "key positions of a sequence", defaults.keys},
            {"head_dim", "columns of a head", defaults.head_dim}};
}

std::vector<BuiltinVariant> softmax_variants() {
    return {{"unsafe", "the softmax is exp and a division, without a maximum"},
            {"safe", "the softmax subtracts the maximum, as the op softmax does"}};
}
std::vector<BuiltinVariant> qknorm_variants() {
    auto out = softmax_variants();
    out.push_back({"mirage", "as unsafe, with the norms of Mirage's benchmark: Q and V along their last dimension"});
    return out;
}

std::vector<Builtin> make_builtins() {
    constexpr HeadSizes grouped{1, 8, 2, 64, 4096, 64};
    return {
        {"rmsnorm_linear", "rms_norm(X) W", linear_keys(2, 4096, 6144), rmsnorm_linear},
        {"rmsnorm_linear_primitive", "(X / sqrt(sum X^2)) W, in primitive ops", linear_keys(2, 4096, 6144),
         rmsnorm_linear_primitive},
        {"layernorm_linear", "layer_norm(X) W", linear_keys(2, 4096, 6144), layernorm_linear},
        {"softmax_linear", "softmax(X) W", linear_keys(2, 4096, 6144), softmax_linear},
        {"gated_mlp", "silu(X W1) * (X W2)", linear_keys(8, 4096, 4096), gated_mlp},
        {"lora", "X W + (X A) B", lora_keys(), lora},
        {"mha", "softmax(Q K) V, every query head with keys of its own; the scale 1/sqrt(head_dim) is folded into Q",
         head_keys({1, 8, 0, 256, 4096, 64}), mha, softmax_variants()},
        {"mqa", "as mha, all query heads with the same keys", head_keys({4, 8, 0, 16, 4096, 64}), mqa,
         softmax_variants()},
        {"gqa", "as mha, groups of query heads with the same keys", head_keys(grouped), gqa, softmax_variants()},
        {"qknorm_gqa", "as gqa, with rms_norm of queries and keys along head_dim", head_keys(grouped), qknorm_gqa,
         qknorm_variants()},
        {"ntrans",
         "residual of a normalised transformer: rms_norm(X + A (rms_norm(H) - X))",
         {{"tokens", "rows of X and H", 8}, {"hidden", "columns of X and H", 4096}},
         ntrans,
         {{"plain", "as it is described"},
          {"mirage", "Mirage's benchmark: rms_norm(X + A (rms_norm(H) + X)), A as large as X"}}},
    };
}

} // namespace

std::vector<Builtin> const& builtins() {
    static auto const all = make_builtins();
    return all;
}

Builtin const* find_builtin(std::string_view name) {
    auto const found = std::ranges::find(builtins(), name, &Builtin::name);
    return found == builtins().end() ? nullptr : &*found;
}

} // namespace espalier::program
