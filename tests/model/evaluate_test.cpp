#include "espalier/model/evaluate.hpp"

#include "espalier/base/error.hpp"
#include "model/models.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace espalier::model {
namespace {

using base::InputError;
using base::Rng;
using base::Seed;
using testing::ElementsAre;
using testing::HasSubstr;

/// A convolution with loops written by hand: stride, padding in front and behind, dilation, groups.
struct PlainConvolution {
    Whole stride, before, after, dilation, groups;

    [[nodiscard]] Whole steps(Whole size, Whole kernel) const {
        return (size + before + after - ((kernel - 1) * dilation + 1)) / stride + 1;
    }
    [[nodiscard]] std::vector<double> run(Array const& x, Array const& w) const {
        auto const out_h = steps(x.dims[2], w.dims[2]), out_w = steps(x.dims[3], w.dims[3]);
        std::vector<double> out;
        for (Whole n = 0; n < x.dims[0]; ++n)
            for (Whole m = 0; m < w.dims[0]; ++m)
                for (Whole i = 0; i < out_h; ++i)
                    for (Whole j = 0; j < out_w; ++j) out.push_back(element(x, w, n, m, i, j));
        return out;
    }

private:
    [[nodiscard]] double element(Array const& x, Array const& w, Whole n, Whole m, Whole i, Whole j) const {
        double sum = 0;
        auto const first = m / (w.dims[0] / groups) * w.dims[1];
        for (Whole c = 0; c < w.dims[1]; ++c)
            for (Whole a = 0; a < w.dims[2]; ++a)
                for (Whole b = 0; b < w.dims[3]; ++b) {
                    auto const y = i * stride + a * dilation - before, z = j * stride + b * dilation - before;
                    if (y < 0 || z < 0 || y >= x.dims[2] || z >= x.dims[3]) continue;
                    auto const in = ((n * x.dims[1] + first + c) * x.dims[2] + y) * x.dims[3] + z;
                    auto const of = ((m * w.dims[1] + c) * w.dims[2] + a) * w.dims[3] + b;
                    sum += x.reals[static_cast<std::size_t>(in)] * w.reals[static_cast<std::size_t>(of)];
                }
        return sum;
    }
};

TEST(EvaluateConvolution, is_what_loops_by_hand_compute) {
    Rng rng(Seed{3});
    for (auto const& plain :
         {PlainConvolution{1, 0, 0, 1, 1}, PlainConvolution{2, 1, 1, 1, 1}, PlainConvolution{1, 2, 0, 2, 2},
          PlainConvolution{3, 1, 2, 1, 6}, PlainConvolution{2, 0, 3, 3, 3}}) {
        auto const x = random_reals({2, 6, 9, 8}, rng), w = random_reals({12, 6 / plain.groups, 3, 2}, rng);

        OneNode const test("Conv", {x, w},
                           {{"strides", Wholes(2, plain.stride)},
                            {"dilations", Wholes(2, plain.dilation)},
                            {"pads", Wholes{plain.before, plain.before, plain.after, plain.after}},
                            {"group", plain.groups}});

        EXPECT_EQ(test.run().reals, plain.run(x, w));
    }
}

TEST(EvaluateConvolution, pads_the_same_in_front_or_behind) {
    auto const x = reals({1, 1, 4}, {1, 2, 3, 4}), w = reals({1, 1, 2}, {1, 10});
    auto const padded = [&](std::string const& how) {
        return OneNode("Conv", {x, w}, {{"auto_pad", how}}).run().reals;
    };

    EXPECT_THAT(padded("SAME_UPPER"), ElementsAre(21, 32, 43, 4));
    EXPECT_THAT(padded("SAME_LOWER"), ElementsAre(10, 21, 32, 43));
    EXPECT_THAT(padded("VALID"), ElementsAre(21, 32, 43));
}

TEST(EvaluatePool, an_average_counts_the_padding_only_if_it_should) {
    auto const x = reals({1, 1, 2}, {6, 12});
    Named attributes{{"kernel_shape", Wholes{3}}, {"pads", Wholes{1, 1}}};

    EXPECT_THAT(OneNode("AveragePool", {x}, attributes).run().reals, ElementsAre(9, 9));

    attributes["count_include_pad"] = Whole{1};
    EXPECT_THAT(OneNode("AveragePool", {x}, attributes).run().reals, ElementsAre(6, 6));
}

TEST(EvaluatePool, a_last_window_beyond_the_padding_counts_what_is_there) {
    auto const x = reals({1, 1, 4}, {2, 4, 6, 8});
    Named const attributes{{"kernel_shape", Wholes{3}},
                           {"strides", Wholes{2}},
                           {"pads", Wholes{0, 0}},
                           {"ceil_mode", Whole{1}},
                           {"count_include_pad", Whole{1}}};

    EXPECT_THAT(OneNode("AveragePool", {x}, attributes).run().reals, ElementsAre(4, 7));
}

TEST(EvaluateSoftmax, before_opset_13_all_dimensions_from_the_axis_on_are_one) {
    auto const x = reals({1, 2, 2}, {0, 0, 0, 0});

    EXPECT_THAT(OneNode("Softmax", {x}, {}, 12).run().reals, ElementsAre(0.25, 0.25, 0.25, 0.25));
    EXPECT_THAT(OneNode("Softmax", {x}, {}, 13).run().reals, ElementsAre(0.5, 0.5, 0.5, 0.5));
}

TEST(EvaluateSoftmax, does_not_overflow) {
    EXPECT_THAT(OneNode("Softmax", {reals({1, 2}, {1e4, 1e4})}).run().reals, ElementsAre(0.5, 0.5));
    EXPECT_THAT(OneNode("Softplus", {reals({1}, {1e4})}).run().reals, ElementsAre(1e4));
}

TEST(EvaluateGelu, follows_both_of_its_descriptions) {
    auto const x = reals({1}, {1});

    // Phi(1) = 0.841344746068543
    EXPECT_NEAR(OneNode("Gelu", {x}, {}, 20).run().reals[0], 0.841344746068543, 1e-14);
    EXPECT_NEAR(OneNode("Gelu", {x}, {{"approximate", std::string("tanh")}}, 20).run().reals[0], 0.8411919906082768,
                1e-14);
}

TEST(EvaluateConcat, keeps_every_value_as_it_is) {
    auto const infinity = std::numeric_limits<double>::infinity();
    auto const out =
        OneNode("Concat", {reals({2}, {-0.0, infinity}), reals({1}, {-0.0})}, {{"axis", Whole{0}}}).run().reals;

    EXPECT_THAT(out, ElementsAre(0, infinity, 0));
    EXPECT_TRUE(std::signbit(out[0]));
    EXPECT_TRUE(std::signbit(out[2]));
}

TEST(EvaluateWholes, wrap_and_truncate_as_their_element_does) {
    auto const of = [](std::string const& op, Element element, Whole a, Whole b) {
        return OneNode(op, {wholes({1}, {a}, element), wholes({1}, {b}, element)}).run().wholes[0];
    };
    auto const least = std::numeric_limits<Whole>::min();

    EXPECT_EQ(of("Div", Element::i64, -7, 2), -3);
    EXPECT_EQ(of("Div", Element::i64, least, -1), least);
    EXPECT_EQ(of("Add", Element::i32, 2147483647, 1), -2147483648);
    EXPECT_EQ(of("Mul", Element::u8, 16, 17), 16);
    EXPECT_EQ(of("Sub", Element::u8, 1, 2), 255);
    EXPECT_EQ(of("Add", Element::i64, (Whole{1} << 53) + 1, 0), (Whole{1} << 53) + 1);
    EXPECT_EQ(of("Pow", Element::i64, -3, 3), -27);
    EXPECT_THROW(of("Div", Element::i64, 1, 0), InputError);
}

TEST(EvaluateCast, cuts_off_and_wraps) {
    auto const cast = [](Array const& x, Element to) {
        return OneNode("Cast", {x}, {{"to", static_cast<Whole>(to)}}).run();
    };

    EXPECT_THAT(cast(reals({3}, {-1.9, 1.9, 300}), Element::i8).wholes, ElementsAre(-1, 1, 44));
    EXPECT_THAT(cast(reals({2}, {0.25, 0}), Element::boolean).wholes, ElementsAre(1, 0));
    EXPECT_THAT(cast(wholes({1}, {7}), Element::f32).reals, ElementsAre(7));
}

TEST(EvaluateGather, counts_from_the_end_and_refuses_what_is_not_there) {
    auto const x = reals({3, 2}, {1, 2, 3, 4, 5, 6});

    EXPECT_THAT(OneNode("Gather", {x, list({-1, 0})}).run().reals, ElementsAre(5, 6, 1, 2));
    EXPECT_THROW((void)OneNode("Gather", {x, list({3})}).run(), InputError);
}

TEST(EvaluateElements, all_numbers_of_16_bits_come_back_as_they_were) {
    for (auto const element : {Element::f16, Element::bf16}) {
        Tensor tensor{.element = element, .dims = {65536}, .bytes = base::Bytes(131072), .texts = {}};
        for (std::size_t i = 0; i < 65536; ++i) {
            tensor.bytes[2 * i] = static_cast<std::byte>(i & 0xFF);
            tensor.bytes[2 * i + 1] = static_cast<std::byte>(i >> 8);
        }
        auto const array = to_array(tensor);

        auto const again = to_tensor(array);

        for (std::size_t i = 0; i < 65536; ++i) {
            if (std::isnan(array.reals[i])) continue;
            ASSERT_EQ(again.bytes[2 * i], tensor.bytes[2 * i]) << i;
            ASSERT_EQ(again.bytes[2 * i + 1], tensor.bytes[2 * i + 1]) << i;
        }
    }
}

TEST(EvaluateElements, numbers_of_16_bits_are_those_that_IEEE_says) {
    auto const value = [](Element element, int bits) {
        return to_array({.element = element,
                         .dims = {},
                         .bytes = {static_cast<std::byte>(bits & 0xFF), static_cast<std::byte>(bits >> 8)},
                         .texts = {}})
            .reals[0];
    };

    EXPECT_EQ(value(Element::f16, 0x3C00), 1);
    EXPECT_EQ(value(Element::f16, 0xC000), -2);
    EXPECT_EQ(value(Element::f16, 0x7BFF), 65504);
    EXPECT_EQ(value(Element::f16, 0x0001), 0x1p-24);
    EXPECT_EQ(value(Element::bf16, 0x3FC0), 1.5);
    EXPECT_EQ(value(Element::bf16, 0x0080), 0x1p-126);
}

TEST(EvaluateConstant, is_what_its_attribute_says) {
    auto const of = [](char const* name, Attribute const& value) {
        return OneNode("Constant", {}, {{name, value}}).run();
    };

    EXPECT_EQ(of("value_int", Whole{7}).wholes, Wholes{7});
    EXPECT_EQ(of("value_ints", Wholes{1, 2}).dims, Dims{2});
    EXPECT_THAT(of("value_float", 0.5F).reals, ElementsAre(0.5));
    EXPECT_THAT(of("value_floats", std::vector<float>{1, 2}).reals, ElementsAre(1, 2));
    EXPECT_THAT(of("value", std::make_shared<Tensor const>(to_tensor(list({3})))).wholes, ElementsAre(3));
}

TEST(EvaluatePad, before_opset_11_the_value_is_an_attribute) {
    auto const x = reals({2}, {1, 2});

    EXPECT_THAT(OneNode("Pad", {x}, {{"pads", Wholes{1, 0}}, {"value", 5.0F}}, 9).run().reals, ElementsAre(5, 1, 2));
    EXPECT_THAT(OneNode("Pad", {x}, {{"pads", Wholes{-1, 1}}}, 9).run().reals, ElementsAre(2, 0));
}

TEST(EvaluateBroadcast, before_opset_7_an_axis_says_where) {
    auto const x = reals({2, 3}, {0, 0, 0, 0, 0, 0}), y = reals({2}, {1, 2});
    Named const attributes{{"axis", Whole{0}}, {"broadcast", Whole{1}}};

    EXPECT_THAT(OneNode("Add", {x, y}, attributes, 6).run().reals, ElementsAre(1, 1, 1, 2, 2, 2));
    EXPECT_NE(OneNode("Add", {x, y}, attributes, 7).why_not(), "");
}

TEST(EvaluateNorm, of_layers_gives_mean_and_deviation_too) {
    OneNode const test("LayerNormalization", {reals({1, 4}, {1, 3, 5, 7}), reals({4}, {1, 1, 1, 1})},
                       {{"epsilon", 0.0F}}, 17, 3);

    auto const out = evaluate(test.model, test.inputs);

    EXPECT_THAT(out.at("y1").reals, ElementsAre(4));
    EXPECT_NEAR(out.at("y2").reals[0], 1 / std::sqrt(5.0), 1e-15);
    EXPECT_NEAR(out.at("y0").reals[3], 3 / std::sqrt(5.0), 1e-15);
}

/// y = relu(x + c); z = -y, with y an output too.
Model small_model() {
    Model out;
    out.opsets[""] = 17;
    out.inputs = {{"x", {Element::f32, std::vector<Dimension>{{2, {}}}}}};
    out.outputs = {{"z", {}}, {"y", {}}};
    out.constants["c"] = std::make_shared<Tensor const>(to_tensor(reals({2}, {1, -5})));
    out.nodes = {node("Add", {"x", "c"}, {}, {"s"}), node("Relu", {"s"}, {}, {"y"}), node("Neg", {"y"}, {}, {"z"})};
    return out;
}

TEST(Evaluate, gives_outputs_that_are_read_inside_too) {
    auto const out = evaluate(small_model(), {{"x", reals({2}, {1, 2})}});

    EXPECT_THAT(out.at("y").reals, ElementsAre(2, 0));
    EXPECT_THAT(out.at("z").reals, ElementsAre(-2, 0));
    EXPECT_EQ(out.size(), 2u);
}

TEST(Evaluate, takes_defaults_for_inputs_that_are_not_given) {
    auto model = small_model();
    model.defaults["x"] = std::make_shared<Tensor const>(to_tensor(reals({2}, {3, 7})));

    EXPECT_THAT(evaluate(model, {}).at("y").reals, ElementsAre(4, 2));
    EXPECT_THAT(evaluate(model, {{"x", reals({2}, {0, 0})}}).at("y").reals, ElementsAre(1, 0));
}

TEST(Evaluate, constants_that_are_listed_as_inputs_need_not_be_given) {
    auto model = small_model();
    model.inputs.push_back({"c", {Element::f32, std::vector<Dimension>{{2, {}}}}});

    EXPECT_THAT(evaluate(model, {{"x", reals({2}, {1, 2})}}).at("y").reals, ElementsAre(2, 0));
}

TEST(Evaluate, names_the_first_node_that_is_not_understood) {
    auto model = small_model();
    model.nodes[1].op = "Mystery";
    model.nodes[1].name = "middle";

    try {
        (void)evaluate(model, {{"x", reals({2}, {1, 2})}});
        FAIL();
    } catch (InputError const& error) {
        EXPECT_THAT(error.what(), HasSubstr("Mystery 'middle'"));
    }
}

TEST(Evaluate, says_which_input_is_missing_or_wrong) {
    EXPECT_THROW((void)evaluate(small_model(), {}), InputError);
    EXPECT_THROW((void)evaluate(small_model(), {{"x", list({1, 2})}}), InputError);
    EXPECT_THROW((void)evaluate(small_model(), {{"x", reals({3}, {1})}}), InputError);
}

TEST(Evaluate, stops_when_it_is_told_to) {
    std::atomic<bool> const stop{true};

    EXPECT_THROW((void)evaluate(small_model(), {{"x", reals({2}, {1, 2})}}, base::StopToken(stop)), base::Stopped);
}

} // namespace
} // namespace espalier::model
