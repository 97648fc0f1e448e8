#include "espalier/base/crc.hpp"
#include "recheck.hpp"

#include "espalier/problems/mutation/mutation.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace espalier::problems::mutation {
namespace {

MutationConfig conv(std::string const& height, std::int32_t dilation) {
    MutationConfig out;
    out.program.inputs = {{"X", {"2", "2", height, "4"}}, {"W", {"2", "2", "3", "3"}}};
    out.program.ops = {{.out = "Y",
                        .op = Compute::conv,
                        .in = {"X", "W"},
                        .dilation = {dilation, dilation},
                        .padding = {dilation, dilation}}};
    out.program.outputs = {"Y"};
    return out;
}

std::string mask_text(std::vector<std::uint8_t> const& mask, std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += mask[i] != 0 ? '1' : '0';
    return out;
}

/// The mutant with these moves, by name.
Mutant mutant(Mutants const& mutants, std::string_view before, std::string_view after, Windows const& windows) {
    auto const place = [](std::vector<Move> const& moves, Move const& move) {
        return Moves{static_cast<std::uint8_t>(std::ranges::find(moves, move) - moves.begin())};
    };
    Mutant out;
    out.windows = windows;
    out.before[0] = place(mutants.of_input(0).moves(), *find_move(before, 4));
    out.after = place(mutants.of_output().moves(), inverse(*find_move(after, 4)));
    return out;
}

TEST(Mutants, images_glued_along_their_height_are_wrong_at_the_seam) {
    Mutants const mutants(conv("4", 1));
    auto const glued = mutant(mutants, "N2H", "H2N", mutants.original().windows);

    auto const mask = mutants.equal_elements(glued);

    // half the kernel's width of each side of the seam: the last row of the first image, the first of the second
    EXPECT_EQ(mask_text(mask, 16), "1111111111110000");
    EXPECT_EQ(mask_text({mask.begin() + 32, mask.end()}, 16), "0000111111111111");
    EXPECT_EQ(mutants.text(glued), "H2N(conv(N2H(X), W, stride 1, dilation 1, padding 1))");
}

TEST(Mutants, sorted_by_parity_a_dilated_convolution_is_a_dense_one_but_at_the_seam) {
    Mutants const mutants(conv("8", 2));
    auto const sorted = mutant(mutants, "sortH", "unsortH", {Window{1, 1, 1}, Window{1, 2, 2}});

    auto const mask = mutants.equal_elements(sorted);

    // of 8 rows the two at the seam, which are rows 6 and 1
    EXPECT_EQ(std::ranges::count(mask, 0), 2 * 2 * 2 * 4);
    EXPECT_EQ(mask_text(mask, 32), "11110000111111111111111100001111");
}

TEST(Mutants, exact_sets_finite_fields_and_whole_numbers_agree_on_every_element) {
    for (auto const family : {Family::Kind::named10, Family::Kind::generic}) {
        auto config = conv("4", 1);
        config.family.kind = family;
        Mutants const mutants(config);
        base::Rng rng{base::Seed{7}};
        int checked = 0;
        for (int tries = 0; tries < 30000 && checked < 60; ++tries) {
            Mutant one;
            one.is_swapped = rng.below(2) == 1;
            for (std::size_t i = 0; i < 2; ++i) {
                auto const& all = mutants.of_input(Mutants::input_of(one, i)).all();
                one.before[i] = all[rng.below(all.size())].moves;
            }
            for (auto& window : one.windows) window = mutant_windows()[rng.below(mutant_windows().size())];
            auto const sizes = mutants.middle(one).output();
            if (!sizes || mutants.of_output().of_sizes(*sizes).empty()) continue;
            auto const& ends = mutants.of_output().of_sizes(*sizes);
            one.after = mutants.of_output().all()[ends[rng.below(ends.size())]].moves;
            auto const mask = mutants.equal_elements(one);
            EXPECT_EQ(mask, equal_on_numbers(mutants, one, 100u + static_cast<std::uint64_t>(tries)));
            auto const values = mutants.values(one);
            for (std::size_t i = 0; i < mask.size(); ++i)
                EXPECT_EQ(mask[i] != 0, values[i] == mutants.original_values()[i]) << mutants.text(one) << " at " << i;
            ++checked;
        }
        EXPECT_EQ(checked, 60);
    }
}

TEST(Mutants, survive_packing_and_nothing_else_is_read) {
    Mutants const mutants(conv("4", 1));
    auto const one = mutant(mutants, "N2W", "W2N", mutants.original().windows);
    base::Bytes bytes;
    base::ByteWriter writer(bytes);
    pack(one, writer);
    base::ByteReader reader(bytes);

    EXPECT_EQ(unpack_mutant(reader), one);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        base::ByteReader cut({bytes.data(), length});
        EXPECT_THROW((void)unpack_mutant(cut), base::SystemError);
    }
    auto unknown = one;
    unknown.before[0] = {200, 201};
    EXPECT_THROW((void)mutants.values(unknown), base::SystemError);
}

TEST(Crc, is_that_of_zip_files) {
    std::string const text = "123456789";
    EXPECT_EQ(base::crc32(std::as_bytes(std::span(text))),
              0xCBF43926u); // published check value
}

} // namespace
} // namespace espalier::problems::mutation
