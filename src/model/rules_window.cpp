#include "rules.hpp"

namespace espalier::model::rules {
namespace {

/// How a window lies on the spatial dimensions of a tensor.
struct Window {
    Wholes size, stride, dilation, before, after;
    Dims out;

    [[nodiscard]] std::size_t rank() const { return size.size(); }
    [[nodiscard]] bool has_padding() const {
        for (std::size_t i = 0; i < rank(); ++i)
            if (before[i] != 0 || after[i] != 0) return true;
        return false;
    }
};

Wholes list_of(Call const& call, char const* name, std::size_t size, std::int64_t otherwise) {
    auto const out = call.wholes(name).value_or(Wholes(size, otherwise));
    Call::moderate(out);
    if (out.size() != size) refuse("its attribute {} has {} numbers for {} dimensions", name, out.size(), size);
    return out;
}

std::int64_t rounded_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// What `auto_pad` or `pads` say.
void set_padding(Call const& call, Dims const& spatial, Window& out) {
    auto const how = call.text("auto_pad", "NOTSET");
    auto const pads = list_of(call, "pads", 2 * out.rank(), 0);
    for (std::size_t i = 0; i < out.rank(); ++i) {
        auto const span = (out.size[i] - 1) * out.dilation[i] + 1;
        std::int64_t before = 0, after = 0;
        if (how == "NOTSET" || how.empty()) {
            before = pads[i];
            after = pads[out.rank() + i];
        } else if (how == "SAME_UPPER" || how == "SAME_LOWER") {
            auto const steps = rounded_up(spatial[i], out.stride[i]);
            auto const total = std::max<std::int64_t>(0, (steps - 1) * out.stride[i] + span - spatial[i]);
            before = how == "SAME_UPPER" ? total / 2 : total - total / 2;
            after = total - before;
        } else if (how != "VALID")
            refuse("its auto_pad is '{}'", how);
        out.before.push_back(before);
        out.after.push_back(after);
    }
}

Window window_of(Call const& call, Wholes const& size, Dims const& spatial) {
    if (size.size() != spatial.size()) refuse("its kernel has {} dimensions of {}", size.size(), spatial.size());
    Call::moderate(size);
    Window out{.size = size, .stride = {}, .dilation = {}, .before = {}, .after = {}, .out = {}};
    out.stride = list_of(call, "strides", size.size(), 1);
    out.dilation = list_of(call, "dilations", size.size(), 1);
    for (std::size_t i = 0; i < out.rank(); ++i)
        if (out.size[i] < 1 || out.stride[i] < 1 || out.dilation[i] < 1 || out.size[i] > 1 << 20 ||
            out.dilation[i] > 1 << 20)
            refuse("its kernel or strides are not sizes");
    set_padding(call, spatial, out);
    auto const is_rounded_up = call.whole("ceil_mode", 0) != 0;
    for (std::size_t i = 0; i < out.rank(); ++i) {
        if (out.before[i] < 0 || out.after[i] < 0) refuse("its padding is negative");
        auto const whole = spatial[i] + out.before[i] + out.after[i];
        auto const room = whole - ((out.size[i] - 1) * out.dilation[i] + 1);
        if (room < 0) refuse("its kernel is larger than its operand");
        auto const steps = (is_rounded_up ? rounded_up(room, out.stride[i]) : room / out.stride[i]) + 1;
        if (is_rounded_up && (steps - 1) * out.stride[i] >= spatial[i] + out.before[i])
            refuse("its last window begins in the padding, where descriptions of the op differ");
        out.out.push_back(steps);
    }
    return out;
}

/// Where a window reads: dimension i by loops first_kept + i and first_reduced + i.
void push_positions(Window const& window, std::size_t first_kept, std::size_t first_reduced, Wholes const& before,
                    Read& out) {
    for (std::size_t i = 0; i < window.rank(); ++i)
        out.index.push_back({.steps = {{first_kept + i, window.stride[i]}, {first_reduced + i, window.dilation[i]}},
                             .offset = -before[i],
                             .looked_up = {}});
}

Dims spatial_of(Call const& call) {
    auto const& dims = call.dims(0);
    if (dims.size() < 3) refuse("its operand has no spatial dimensions");
    return {dims.begin() + 2, dims.end()};
}

Dims joined(Dims first, Dims const& then) {
    first.insert(first.end(), then.begin(), then.end());
    return first;
}

/// There is no largest or mean value of a window that lies in the padding only.
void check_windows(Window const& window, Dims const& spatial) {
    for (std::size_t i = 0; i < window.rank(); ++i)
        for (std::int64_t step = 0; step < window.out[i]; ++step) {
            auto is_empty = true;
            for (std::int64_t k = 0; k < window.size[i] && is_empty; ++k) {
                auto const at = step * window.stride[i] + k * window.dilation[i] - window.before[i];
                is_empty = at < 0 || at >= spatial[i];
            }
            if (is_empty) refuse("a window of it lies in the padding only");
        }
}

/// Over windows of each channel of `source`, which has `before` in front of it.
Nest pool_nest(std::size_t source, Known const& of, Window const& window, Wholes const& before) {
    auto const out = joined({of.dims[0], of.dims[1]}, window.out);
    Nest nest{.out = {of.element, out}, .kept = out, .reduced = window.size, .reads = {}, .body = {}, .epilogue = {}};
    Read read{.source = source, .shape = of.dims, .index = {at_loop(0), at_loop(1)}, .outside = Outside::skip};
    push_positions(window, 2, out.size(), before, read);
    nest.reads = {read};
    nest.body = Formula::read(0).nodes();
    return nest;
}

Wholes kernel_of(Call const& call) {
    auto const out = call.wholes("kernel_shape");
    if (!out) refuse("it has no kernel_shape");
    return *out;
}

Definition global_pool(Call const& call, Reduction const& reduction) {
    auto const spatial = spatial_of(call);
    std::vector<std::size_t> axes;
    for (std::size_t i = 0; i < spatial.size(); ++i) axes.push_back(2 + i);
    return single(1, reduction_nest(0, call.type(0), axes, reduction));
}

} // namespace

Definition convolution(Call const& call) {
    auto const spatial = spatial_of(call);
    auto const &x = call.dims(0), &w = call.dims(1);
    auto const groups = call.whole("group", 1);
    if (w.size() != x.size()) refuse("its kernel {} is not of the rank of its operand {}", words(w), words(x));
    if (groups < 1 || groups > w[0] || x[1] != w[1] * groups || w[0] % groups != 0)
        refuse("its {} groups do not fit channels of {} and a kernel {}", groups, words(x), words(w));
    Wholes const size(w.begin() + 2, w.end());
    if (list_of(call, "kernel_shape", size.size(), 0) != size && call.has_attribute("kernel_shape"))
        refuse("its kernel_shape is not that of its kernel");
    auto const window = window_of(call, size, spatial);
    auto const channels = w[0] / groups;

    Nest nest{.out = {call.type(0).element, joined({x[0], w[0]}, window.out)},
              .kept = joined({x[0], groups, channels}, window.out),
              .reduced = joined({w[1]}, size),
              .reducer = Reducer::sum,
              .reads = {},
              .body = {},
              .epilogue = {}};
    auto const summed = nest.kept.size();
    Read image{.source = 0, .shape = joined({x[0], groups, w[1]}, spatial), .index = {}};
    image.outside = window.has_padding() ? Outside::zero : Outside::never;
    image.index = {at_loop(0), at_loop(1), at_loop(summed)};
    push_positions(window, 3, summed + 1, window.before, image);
    Read kernel{.source = 1, .shape = joined({groups, channels, w[1]}, size), .index = {}};
    kernel.index = {at_loop(1), at_loop(2)};
    for (std::size_t i = 0; i < nest.reduced.size(); ++i) kernel.index.push_back(at_loop(summed + i));
    nest.reads = {image, kernel};
    nest.body = (Formula::read(0) * Formula::read(1)).nodes();
    if (call.has(2)) {
        if (call.dims(2) != Dims{w[0]}) refuse("its bias is not a number for a channel");
        nest.reads.push_back(read_at_loops(2, {groups, channels}, 1));
        nest.epilogue = (Formula::reduced() + Formula::read(2)).nodes();
    }
    return single(call.inputs(), nest);
}

Definition max_pool(Call const& call) {
    if (call.wants(1)) refuse("the places of its maxima are used");
    auto const window = window_of(call, kernel_of(call), spatial_of(call));
    check_windows(window, spatial_of(call));
    auto nest = pool_nest(0, call.type(0), window, window.before);
    nest.reducer = Reducer::maximum;
    return single(1, nest);
}

/// Zeros around the operand that count become elements first: a window that goes beyond them counts them, and no more.
Definition average_pool(Call const& call) {
    auto const window = window_of(call, kernel_of(call), spatial_of(call));
    auto const counts_padding = call.whole("count_include_pad", 0) != 0 && window.has_padding();
    if (!counts_padding) check_windows(window, spatial_of(call));
    std::vector<Nest> nests;
    auto type = call.type(0);
    if (counts_padding) {
        Read read{.source = 0, .shape = type.dims, .index = {at_loop(0), at_loop(1)}, .outside = Outside::zero};
        for (std::size_t i = 0; i < window.rank(); ++i) {
            read.index.push_back(at_loop(2 + i, 1, -window.before[i]));
            type.dims[2 + i] += window.before[i] + window.after[i];
        }
        Nest padded{.out = type, .kept = type.dims, .reduced = {}, .reads = {read}, .body = {}, .epilogue = {}};
        padded.body = Formula::read(0).nodes();
        nests.push_back(padded);
    }
    auto nest = pool_nest(nests.size(), type, window, counts_padding ? Wholes(window.rank(), 0) : window.before);
    nest.reducer = Reducer::sum;
    nest.epilogue = (Formula::reduced() / Formula::count()).nodes();
    nests.push_back(nest);
    return last_of(1, nests);
}

Definition global_average_pool(Call const& call) {
    return global_pool(call, {.after = Formula::reduced() / Formula::count()});
}
Definition global_max_pool(Call const& call) { return global_pool(call, {.reducer = Reducer::maximum}); }

namespace {

/// A product of matrices, with as many dimensions before them as `kept` has: [.., m, k] or [.., k, m] from `source`.
Read matrix_read(std::size_t source, Dims const& shape, Dims const& kept, std::size_t own, bool is_left) {
    auto read = read_broadcast(source, shape, kept);
    auto const rank = shape.size();
    read.index[rank - 2] = is_left ? at_loop(own) : at_loop(kept.size());
    read.index[rank - 1] = is_left ? at_loop(kept.size()) : at_loop(own);
    return read;
}

Nest matmul_nest(Known const& out, Dims const& kept, std::int64_t inner) {
    Nest nest{
        .out = out, .kept = kept, .reduced = {inner}, .reducer = Reducer::sum, .reads = {}, .body = {}, .epilogue = {}};
    nest.body = (Formula::read(0) * Formula::read(1)).nodes();
    return nest;
}

} // namespace

Definition matmul(Call const& call) {
    auto a = call.dims(0), b = call.dims(1);
    if (a.empty() || b.empty()) refuse("an operand of it is a scalar");
    if (call.type(0).element != call.type(1).element) refuse("its operands are of different elements");
    auto const is_row = a.size() == 1, is_column = b.size() == 1;
    if (is_row) a.insert(a.begin(), 1);
    if (is_column) b.push_back(1);
    auto const before = broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
    auto const inner = a.back();
    if (!before || b[b.size() - 2] != inner) refuse("its operands {} and {} do not fit", words(a), words(b));
    auto const kept = joined(*before, {a[a.size() - 2], b.back()});
    auto out = *before;
    if (!is_row) out.push_back(a[a.size() - 2]);
    if (!is_column) out.push_back(b.back());
    auto nest = matmul_nest({call.type(0).element, out}, kept, inner);
    nest.reads = {matrix_read(0, a, kept, kept.size() - 2, true), matrix_read(1, b, kept, kept.size() - 1, false)};
    return single(2, nest);
}

/// alpha A B + beta C.
Definition gemm(Call const& call) {
    auto const &a = call.dims(0), &b = call.dims(1);
    if (a.size() != 2 || b.size() != 2) refuse("its operands are not matrices");
    auto const a_is_turned = call.whole("transA", 0) != 0, b_is_turned = call.whole("transB", 0) != 0;
    auto const m = a[a_is_turned ? 1 : 0], n = b[b_is_turned ? 0 : 1], k = a[a_is_turned ? 0 : 1];
    if (b[b_is_turned ? 1 : 0] != k) refuse("its operands {} and {} do not fit", words(a), words(b));
    Dims const out{m, n};
    auto nest = matmul_nest({call.type(0).element, out}, out, k);
    nest.reads = {matrix_read(0, a, out, 0, !a_is_turned), matrix_read(1, b, out, 1, b_is_turned)};
    auto const alpha = call.real("alpha", 1), beta = call.real("beta", 1);
    if (!is_real(call.type(0).element) && (alpha != 1 || beta != 1)) refuse("it multiplies whole numbers by reals");
    auto value = alpha == 1 ? Formula::reduced() : alpha * Formula::reduced();
    if (call.has(2)) {
        if (broadcast(out, call.dims(2)) != out) refuse("its third operand does not broadcast to {}", words(out));
        nest.reads.push_back(read_broadcast(2, call.dims(2), out));
        value = value + (beta == 1 ? Formula::read(2) : beta * Formula::read(2));
    }
    nest.epilogue = value.nodes();
    return single(call.inputs(), nest);
}

} // namespace espalier::model::rules
