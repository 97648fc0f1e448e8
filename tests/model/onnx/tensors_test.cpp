#include "made.hpp"

#include <gmock/gmock.h>

namespace espalier::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor read_tensor(pb::TensorProto const& proto) { return parse_tensor(bytes_of(proto)); }

pb::TensorProto tensor_proto(int type, Dims const& dims) {
    pb::TensorProto proto;
    proto.set_name("t");
    proto.set_data_type(type);
    for (auto const size : dims) proto.add_dims(size);
    return proto;
}

TEST(OnnxTensors, narrow_numbers_come_from_wide_fields) {
    auto const read = [](int type, std::vector<std::int32_t> const& values) {
        auto proto = tensor_proto(type, {static_cast<std::int64_t>(values.size())});
        for (auto const value : values) proto.add_int32_data(value);
        return read_tensor(proto);
    };

    EXPECT_THAT(values_of<std::uint8_t>(read(pb::TensorProto::UINT8, {0, 255})), ElementsAre(0, 255));
    EXPECT_THAT(values_of<std::int8_t>(read(pb::TensorProto::INT8, {-128, 127})), ElementsAre(-128, 127));
    EXPECT_THAT(values_of<std::uint16_t>(read(pb::TensorProto::UINT16, {65535})), ElementsAre(65535));
    EXPECT_THAT(values_of<std::int16_t>(read(pb::TensorProto::INT16, {-32768})), ElementsAre(-32768));
    EXPECT_THAT(values_of<std::int32_t>(read(pb::TensorProto::INT32, {-5})), ElementsAre(-5));
    EXPECT_THAT(values_of<std::uint8_t>(read(pb::TensorProto::BOOL, {0, 1})), ElementsAre(0, 1));
    EXPECT_THAT(values_of<std::uint16_t>(read(pb::TensorProto::FLOAT16, {0x3C00})), ElementsAre(0x3C00));
    EXPECT_THAT(values_of<std::uint16_t>(read(pb::TensorProto::BFLOAT16, {0x3F80})), ElementsAre(0x3F80));
    EXPECT_THROW((void)read(pb::TensorProto::UINT8, {256}), base::InputError);
    EXPECT_THROW((void)read(pb::TensorProto::FLOAT16, {65536}), base::InputError);
}

TEST(OnnxTensors, wide_numbers_come_from_fields_of_their_own) {
    auto doubles = tensor_proto(pb::TensorProto::DOUBLE, {1});
    doubles.add_double_data(0.1);
    auto complex = tensor_proto(pb::TensorProto::COMPLEX64, {1});
    complex.add_float_data(1);
    complex.add_float_data(2);
    auto complex_doubles = tensor_proto(pb::TensorProto::COMPLEX128, {1});
    complex_doubles.add_double_data(1);
    complex_doubles.add_double_data(2);
    auto u64 = tensor_proto(pb::TensorProto::UINT64, {1});
    u64.add_uint64_data(~std::uint64_t{0});
    auto u32 = tensor_proto(pb::TensorProto::UINT32, {1});
    u32.add_uint64_data(0xFFFFFFFF);
    auto u32_over = tensor_proto(pb::TensorProto::UINT32, {1});
    u32_over.add_uint64_data(0x100000000);

    EXPECT_THAT(values_of<double>(read_tensor(doubles)), ElementsAre(0.1));
    EXPECT_THAT(values_of<float>(read_tensor(complex)), ElementsAre(1, 2));
    EXPECT_THAT(values_of<double>(read_tensor(complex_doubles)), ElementsAre(1, 2));
    EXPECT_THAT(values_of<std::uint64_t>(read_tensor(u64)), ElementsAre(~std::uint64_t{0}));
    EXPECT_THAT(values_of<std::uint32_t>(read_tensor(u32)), ElementsAre(0xFFFFFFFF));
    EXPECT_THROW((void)read_tensor(u32_over), base::InputError);
}

TEST(OnnxTensors, raw_data_are_the_elements) {
    auto proto = tensor_proto(pb::TensorProto::INT16, {2, 1});
    proto.set_raw_data(std::string("\x01\x02\x03\x04", 4));

    EXPECT_THAT(values_of<std::int16_t>(read_tensor(proto)), ElementsAre(0x0201, 0x0403));
}

TEST(OnnxTensors, a_tensor_without_elements_and_one_without_dimensions) {
    auto scalar = tensor_proto(pb::TensorProto::FLOAT, {});
    scalar.add_float_data(2);

    EXPECT_EQ(read_tensor(tensor_proto(pb::TensorProto::FLOAT, {3, 0})).size(), 0);
    EXPECT_THAT(values_of<float>(read_tensor(scalar)), ElementsAre(2));
}

TEST(OnnxTensors, sizes_must_fit_the_data) {
    constexpr auto huge = std::int64_t{1} << 62;
    auto const refused = [](pb::TensorProto const& proto) {
        try {
            (void)read_tensor(proto);
        } catch (base::InputError const& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    auto twice = tensor_proto(pb::TensorProto::FLOAT, {1});
    twice.add_float_data(1);
    twice.set_raw_data("abcd");
    auto text = tensor_proto(pb::TensorProto::STRING, {1});
    text.set_raw_data("a");
    auto other_field = tensor_proto(pb::TensorProto::FLOAT, {1});
    other_field.add_int64_data(1);

    EXPECT_THAT(refused(tensor_proto(pb::TensorProto::FLOAT, {2})), HasSubstr("0 bytes, but its dimensions say 8"));
    EXPECT_THAT(refused(tensor_proto(pb::TensorProto::FLOAT, {-2})), HasSubstr("-2 is no size"));
    EXPECT_THAT(refused(tensor_proto(pb::TensorProto::FLOAT, {huge})), HasSubstr("more than any memory"));
    EXPECT_THAT(refused(tensor_proto(pb::TensorProto::FLOAT, {huge, huge})), HasSubstr("more than any memory"));
    EXPECT_THAT(refused(tensor_proto(pb::TensorProto::FLOAT, {huge, huge, 0})), HasSubstr("more than any memory"));
    EXPECT_THAT(refused(tensor_proto(pb::TensorProto::STRING, {1LL << 40})), HasSubstr("0 texts"));
    EXPECT_THAT(refused(tensor_proto(0, {})), HasSubstr("what its elements are"));
    EXPECT_THAT(refused(twice), HasSubstr("twice"));
    EXPECT_THAT(refused(text), HasSubstr("texts cannot be raw data"));
    EXPECT_THAT(refused(other_field), HasSubstr("0 bytes"));
}

} // namespace
} // namespace espalier::model
