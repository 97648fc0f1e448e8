#include "espalier/base/rng.hpp"
#include "espalier/model/evaluate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

/// How fast models are evaluated by the definitions of their ops: operations and elements per CPU second.
namespace espalier::perf {
namespace {

using namespace model;
using Sizes = std::vector<std::int64_t>;

struct Case {
    std::string title;
    std::string op;
    std::vector<Dims> operands;
    std::map<std::string, Attribute> attributes = {};
};

Array random_array(Dims const& dims, base::Rng& rng) {
    Array out{.element = Element::f32, .dims = dims, .reals = {}, .wholes = {}, .texts = {}};
    for (std::int64_t i = 0; i < element_count(dims); ++i) out.reals.push_back(rng.uniform() - 0.5);
    return out;
}

/// A model of one node and its inputs.
struct Runnable {
    Model model;
    Arrays inputs;

    explicit Runnable(Case const& of) {
        base::Rng rng(base::Seed{1});
        model.opsets[""] = 17;
        Node node;
        node.op = of.op;
        node.attributes = of.attributes;
        node.outputs = {"y"};
        for (auto const& dims : of.operands) {
            auto const name = fmt::format("x{}", node.inputs.size());
            node.inputs.push_back(name);
            inputs[name] = random_array(dims, rng);
            Type type{Element::f32, std::vector<Dimension>{}};
            for (auto const size : dims) type.shape->push_back({size, {}});
            model.inputs.push_back({name, type});
        }
        model.nodes.push_back(node);
        model.outputs.push_back({"y", {}});
    }
};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Seconds of one evaluation, the best of some.
double seconds_of(Runnable const& what, int rounds) {
    double best = 1e9;
    for (int i = 0; i < rounds; ++i) {
        auto const start = cpu_seconds();
        (void)evaluate(what.model, what.inputs);
        best = std::min(best, cpu_seconds() - start);
    }
    return best;
}

std::vector<Case> cases() {
    Attribute const padded = Sizes{1, 1, 1, 1};
    return {
        {"conv 3x3, 64 channels, 56x56", "Conv", {{1, 64, 56, 56}, {64, 64, 3, 3}}, {{"pads", padded}}},
        {"conv 1x1, 256 to 64, 56x56", "Conv", {{1, 256, 56, 56}, {64, 256, 1, 1}}},
        {"conv 3x3, 512 channels, 7x7", "Conv", {{1, 512, 7, 7}, {512, 512, 3, 3}}, {{"pads", padded}}},
        {"conv 7x7, stride 2, 3 to 64, 224x224",
         "Conv",
         {{1, 3, 224, 224}, {64, 3, 7, 7}},
         {{"pads", Sizes{3, 3, 3, 3}}, {"strides", Sizes{2, 2}}}},
        {"conv 3x3, 32 groups of 4, 56x56",
         "Conv",
         {{1, 128, 56, 56}, {128, 4, 3, 3}},
         {{"pads", padded}, {"group", std::int64_t{32}}}},
        {"conv 3x3, depthwise, 128 channels, 56x56",
         "Conv",
         {{1, 128, 56, 56}, {128, 1, 3, 3}},
         {{"pads", padded}, {"group", std::int64_t{128}}}},
        {"matmul 128 x 768 x 3072", "MatMul", {{1, 128, 768}, {768, 3072}}},
        {"matmul 1 x 768 x 3072", "MatMul", {{1, 1, 768}, {768, 3072}}},
        {"matmul, 12 of 128 x 64 x 128", "MatMul", {{1, 12, 128, 64}, {1, 12, 64, 128}}},
        {"relu, 256x56x56", "Relu", {{1, 256, 56, 56}}},
        {"hard-swish, 256x56x56", "HardSwish", {{1, 256, 56, 56}}},
        {"softmax, 12x128x128", "Softmax", {{1, 12, 128, 128}}},
        {"max pool 3x3, stride 2, 64x112x112",
         "MaxPool",
         {{1, 64, 112, 112}},
         {{"kernel_shape", Sizes{3, 3}}, {"strides", Sizes{2, 2}}, {"pads", padded}}},
    };
}

/// ResNet-50 with random weights.
class ResNet {
public:
    Model model;
    Arrays inputs;

    ResNet() {
        model.opsets[""] = 17;
        inputs["x"] = random_array({1, 3, 224, 224}, rng_);
        model.inputs.push_back({"x", {Element::f32, std::vector<Dimension>{{1, {}}, {3, {}}, {224, {}}, {224, {}}}}});
        auto at = relu(convolution("x", 3, 64, 7, 2));
        at = add("MaxPool", {at},
                 {{"kernel_shape", Sizes{3, 3}}, {"strides", Sizes{2, 2}}, {"pads", Sizes{1, 1, 1, 1}}});
        std::int64_t channels = 64;
        for (auto const& [blocks, width] : {std::pair(3, 64), std::pair(4, 128), std::pair(6, 256), std::pair(3, 512)})
            for (int i = 0; i < blocks; ++i) {
                at = block(at, channels, width, i == 0 && width > 64 ? 2 : 1);
                channels = 4 * width;
            }
        at = add("Flatten", {add("GlobalAveragePool", {at})});
        at = add("Gemm", {at, constant({1000, channels}), constant({1000})}, {{"transB", std::int64_t{1}}});
        model.outputs.push_back({at, {}});
    }

private:
    std::string block(std::string const& x, std::int64_t channels, std::int64_t width, std::int64_t stride) {
        auto at = relu(convolution(x, channels, width, 1, 1));
        at = relu(convolution(at, width, width, 3, stride));
        at = convolution(at, width, 4 * width, 1, 1);
        auto const beside = channels == 4 * width ? x : convolution(x, channels, 4 * width, 1, stride);
        return relu(add("Add", {at, beside}));
    }
    std::string convolution(std::string const& x, std::int64_t in, std::int64_t out, std::int64_t size,
                            std::int64_t stride) {
        auto const made = add("Conv", {x, constant({out, in, size, size})},
                              {{"strides", Sizes{stride, stride}}, {"pads", Sizes(4, size / 2)}});
        auto const numbers = [&] { return constant({out}); };
        return add("BatchNormalization", {made, numbers(), numbers(), numbers(), constant({out}, 1)});
    }
    std::string relu(std::string const& x) { return add("Relu", {x}); }
    /// Random numbers from `least` on.
    std::string constant(Dims const& dims, double least = -0.5) {
        auto array = random_array(dims, rng_);
        for (auto& each : array.reals) each += least + 0.5;
        auto const name = fmt::format("w{}", model.constants.size());
        model.constants[name] = std::make_shared<Tensor const>(to_tensor(array));
        return name;
    }
    std::string add(std::string const& op, std::vector<std::string> const& operands,
                    std::map<std::string, Attribute> const& attributes = {}) {
        Node node;
        node.op = op;
        node.inputs = operands;
        node.attributes = attributes;
        node.outputs = {fmt::format("t{}", model.nodes.size())};
        model.nodes.push_back(node);
        return node.outputs[0];
    }

    base::Rng rng_{base::Seed{2}};
};

void run_network() {
    ResNet const network;
    auto const facts = infer(network.model);
    double flops = 0;
    for (auto const& node : network.model.nodes) flops += work_of(node, network.model, facts).value().flops;
    auto const start = cpu_seconds();
    (void)evaluate(network.model, network.inputs);
    auto const seconds = cpu_seconds() - start;
    fmt::print("{:42} {:8.3f} ms {:7.2f} GFLOP/s ({:.2f} GFLOP)\n", "ResNet-50", 1e3 * seconds, flops / seconds * 1e-9,
               flops * 1e-9);
}

void run() {
    constexpr int rounds = 5;
    for (auto const& each : cases()) {
        Runnable const what(each);
        auto const work = work_of(what.model.nodes[0], what.model, infer(what.model)).value();
        auto const seconds = seconds_of(what, rounds);
        fmt::print("{:42} {:8.3f} ms {:7.2f} GFLOP/s {:7.2f} GB/s\n", each.title, 1e3 * seconds,
                   work.flops / seconds * 1e-9, (work.bytes_read + work.bytes_written) / seconds * 1e-9);
    }
}

} // namespace
} // namespace espalier::perf

int main() {
    espalier::perf::run();
    espalier::perf::run_network();
}
