#include "espalier/base/indexed.hpp"

#include "espalier/base/ids.hpp"

#include <gmock/gmock.h>

#include <string>
#include <type_traits>

namespace espalier::base {
namespace {

using Apple = StrongId<struct AppleTag, std::int32_t>;
using Pear = StrongId<struct PearTag, std::int32_t>;
using Apples = IndexedVector<Apple, std::string>;

template <class Index>
concept IndexesApples = requires(Apples const& apples, Index index) {
    apples[index];
};
static_assert(IndexesApples<Apple>);
static_assert(!IndexesApples<Pear> && !IndexesApples<int> && !IndexesApples<std::size_t>);

TEST(IndexedVector, what_is_added_is_found_by_the_id_that_it_got) {
    Apples apples;
    auto const red = apples.push_back("red"), green = apples.push_back("green");

    EXPECT_EQ(red, Apple{0});
    EXPECT_EQ(apples[green], "green");
    EXPECT_EQ(apples.next(), Apple{2});
    apples[red] = "rotten";
    EXPECT_EQ(apples, (Apples{"rotten", "green"}));
}

TEST(IndexedVector, knows_its_ids) {
    IndexedVector<Pear, bool> const pears(3);
    std::vector<Pear> ids;
    for (auto const id : pears.ids()) ids.push_back(id);
    for (auto const id : pears.reversed_ids()) ids.push_back(id);

    EXPECT_THAT(ids, testing::ElementsAre(Pear{0}, Pear{1}, Pear{2}, Pear{2}, Pear{1}, Pear{0}));
    EXPECT_TRUE(pears.contains(Pear{2}));
    EXPECT_FALSE(pears.contains(Pear{3}));
    EXPECT_FALSE(pears.contains(Pear{-1}));
    EXPECT_FALSE(pears[Pear{1}]);
}

} // namespace
} // namespace espalier::base
